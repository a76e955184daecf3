/*
 * What htslib, which reads SAM and CRAM, does with reference sequences.
 */
#ifndef APP_COUNT_REFERENCES_H
#define APP_COUNT_REFERENCES_H

/*
 * Let htslib print its errors, which say more than the failure that it returns, and make it look
 * for reference sequences of CRAM files only on this machine, unless REF_PATH is set. Changes the
 * environment: call it before starting any thread that may read that.
 */
void references_set_up(void);

#endif
