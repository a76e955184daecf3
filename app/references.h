/*
 * How htslib behaves, which reads SAM, BAM and CRAM.
 */
#ifndef APP_REFERENCES_H
#define APP_REFERENCES_H

/*
 * Have htslib print its errors, which say more than the failure that it returns; and let it look
 * for the reference sequences of CRAM files on this machine only, unless REF_PATH is set. To be
 * called before any thread starts, because it changes the environment.
 */
void references_set_up(void);

#endif
