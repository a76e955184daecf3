/*
 * What `model --genomescope` prints: the properties that GenomeScope 2 prints, as text or JSON.
 */
#ifndef APP_MODEL_GENOMESCOPE_REPORT_H
#define APP_MODEL_GENOMESCOPE_REPORT_H

#include "app/cli/text_out.h"
#include "app/model/genomescope.h"

/* Only for a fit that has converged. file: the input */
void genomescope_put_text(struct text_out *out, const char *file, int k,
                          const struct genomescope *result);
void genomescope_put_json(struct text_out *out, const char *file, int k,
                          const struct genomescope *result);

#endif
