#include "bench/gpu/parsing.cuh"

static size_t ngroups(const struct parsing *p)
{
        return p->out.spans_cap / KC_GROUP_NSPANS + 1;
}

enum kc_status parsing_new(struct parsing *p, struct kc_gpu *gpu,
                           const struct kc_gpu_text_setup *setup, struct kc_error *err)
{
        enum kc_status status;
        *p = {};
        p->out.words_cap = kc_gpu_text_most_words(setup->max_nbytes);
        p->out.spans_cap = kc_gpu_text_most_spans(setup);
        p->out.max_nbases = UINT32_MAX;
        KC_TRY(kc_gpu_text_new(&p->text, gpu, setup, err));
        KC_TRY(kc_gpu_new(gpu, &p->out.words, p->out.words_cap, err));
        KC_TRY(kc_gpu_new(gpu, &p->out.spans, p->out.spans_cap, err));
        KC_TRY(kc_gpu_new(gpu, &p->packed, p->out.words_cap, err));
        KC_TRY(kc_gpu_new(gpu, &p->groups, ngroups(p), err));
        KC_TRY(kc_packer_new(&p->packer, gpu, p->out.spans_cap, err));
out:
        return status;
}

void parsing_free(struct parsing *p, struct kc_gpu *gpu)
{
        kc_packer_free(&p->packer, gpu);
        kc_gpu_delete(gpu, p->groups, ngroups(p));
        kc_gpu_delete(gpu, p->packed, p->out.words_cap);
        kc_gpu_delete(gpu, p->out.spans, p->out.spans_cap);
        kc_gpu_delete(gpu, p->out.words, p->out.words_cap);
        kc_gpu_text_free(p->text);
        *p = {};
}

enum kc_status parsing_parse(struct parsing *p, const struct kc_gpu_text_input *input,
                             struct kc_gpu_text_result *result, struct kc_error *err)
{
        p->out.nwords = p->out.nspans = 0;
        p->out.nbases = p->out.nkmers = 0;
        enum kc_status status = kc_gpu_text_parse(p->text, input, &p->out, result, err);
        if (status == KC_OK && (result->foreign || result->full || result->consumed == 0))
                return kc_fail(err, KC_EINPUT, "the text was refused at byte %zu",
                               (size_t)result->consumed);
        return status;
}

enum kc_status parsing_pack(struct parsing *p, struct kc_gpu *gpu, int k, struct kc_error *err)
{
        const struct kc_gpu_reads reads = kc_gpu_text_reads(&p->out);
        const struct kc_packed to = { p->packed, NULL, p->groups };
        return kc_pack_reads(&p->packer, gpu, &reads, k, &to, err);
}
