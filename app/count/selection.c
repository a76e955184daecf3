#include "app/count/count_internal.h"

#include <stdio.h>

static enum kc_status parse_flags(const char *option, const char *text, uint16_t *flags,
                                  struct kc_error *err)
{
        if (text == NULL || kc_reader_parse_flags(text, flags))
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "%s: '%s' is neither a number up to 0xffff nor a list of flags such as "
                       "DUP,QCFAIL ('samtools flags' lists them)",
                       option, text);
}

enum kc_status count_select(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_selection *selection = &count->counter.selection;
        enum kc_status status;
        *selection = (struct kc_selection){ .nskip = (uint32_t)s->nskip, .hpc = s->hpc };
        if (count_adds(count))
                selection->hpc = kc_store_writes_hpc(count->counter.outputs[0].writer);
        if (selection->hpc && selection->nskip > 0)
                return kc_fail(err, KC_EUSAGE,
                               "--skip cannot be used if homopolymers are compressed (--hpc)");
        KC_TRY(parse_flags("--require-flags", s->require_flags, &selection->required, err));
        KC_TRY(parse_flags("--exclude-flags", s->exclude_flags, &selection->excluded, err));
        if (selection->required & KC_FLAGS_REPEATED)
                return kc_fail(err, KC_EUSAGE,
                               "--require-flags: secondary and supplementary alignments (0x100, "
                               "0x800) are never counted");
        if (selection->required & selection->excluded)
                return kc_fail(err, KC_EUSAGE,
                               "--require-flags and --exclude-flags have 0x%x in common: no "
                               "alignment can meet both",
                               (unsigned)(selection->required & selection->excluded));
out:
        return status;
}
