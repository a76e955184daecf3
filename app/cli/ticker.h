/*
 * A thread that does something again and again while another thread works or waits.
 */
#ifndef APP_CLI_TICKER_H
#define APP_CLI_TICKER_H

#include <stdbool.h>

struct ticker;

/* Call tick every `seconds`, first after that time, until it returns false. Returns NULL if no
 * thread can be started. ctx must outlive the ticker. */
struct ticker *ticker_start(double seconds, bool (*tick)(void *ctx), void *ctx);

/* No tick is running or begins once this has returned. NULL is fine. */
void ticker_stop(struct ticker *ticker);

#endif
