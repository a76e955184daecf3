/*
 * How htslib, which reads SAM, BAM and CRAM, behaves.
 */
#ifndef APP_REFERENCES_H
#define APP_REFERENCES_H

/*
 * Have htslib print its errors, which say more than the failure that it returns; and let it look
 * for the reference sequences of CRAM files on this machine only, unless REF_PATH is set. Call it
 * before any thread that may read the environment starts, because it changes the environment.
 */
void references_set_up(void);

#endif
