/*
 * What model prints, as text for people or as JSON.
 */
#ifndef APP_MODEL_MODEL_REPORT_H
#define APP_MODEL_MODEL_REPORT_H

#include "app/cli/text_out.h"
#include "app/model/model.h"

/* file: the input; width: columns of a line */
void model_put_text(struct text_out *out, const char *file, int k, const struct model *model,
                    int width);
void model_put_json(struct text_out *out, const char *file, int k, const struct model *model);

/* A sentence for each caveat, in the order of the bits. Returns their number. */
enum { MODEL_MAX_SENTENCES = 15, MODEL_SENTENCE_NBYTES = 320 };
int model_sentences(const struct model *model, int k,
                    char sentences[MODEL_MAX_SENTENCES][MODEL_SENTENCE_NBYTES]);

#endif
