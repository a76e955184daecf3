#include "io/input/bgzf_blocks.h"

/* Whether n bytes, fewer than a header has, may be the beginning of one. */
static bool may_begin_header(const uint8_t *bytes, size_t n)
{
        static const uint8_t magic[] = { 0x1f, 0x8b, 8, 4 };
        for (size_t i = 0; i < n && i < sizeof magic; i++)
                if (bytes[i] != magic[i])
                        return false;
        return n < KC_BGZF_FIXED_NBYTES || n < kc_bgzf_header_nbytes(bytes);
}

/* Returns KC_BGZF_END if the block was appended. */
static enum kc_bgzf_stop append(struct kc_bgzf_table *table, const uint8_t *bytes, size_t at,
                                const struct kc_bgzf_header *header)
{
        const uint8_t *footer = bytes + at + header->block_nbytes - KC_BGZF_FOOTER_NBYTES;
        uint32_t text_nbytes = kc_bgzf_u32(footer + 4);
        if (text_nbytes > KC_BGZF_MAX_NBYTES)
                return KC_BGZF_TOO_LONG;
        if (table->n == table->cap || table->cap_text_nbytes - table->text_nbytes < text_nbytes)
                return KC_BGZF_FULL;
        table->blocks[table->n++] = (struct kc_bgzf_block){
                .at = at + header->header_nbytes,
                .text_at = table->text_nbytes,
                .nbytes = header->block_nbytes - header->header_nbytes - KC_BGZF_FOOTER_NBYTES,
                .text_nbytes = text_nbytes,
                .crc = kc_bgzf_u32(footer),
                .header = header->header_nbytes,
        };
        table->text_nbytes += text_nbytes;
        return KC_BGZF_END;
}

enum kc_bgzf_stop kc_bgzf_find(struct kc_bgzf_table *table, const uint8_t *bytes, size_t n,
                               size_t *at)
{
        while (*at < n) {
                struct kc_bgzf_header header;
                if (!kc_bgzf_parse(bytes + *at, n - *at, &header))
                        return may_begin_header(bytes + *at, n - *at) ? KC_BGZF_PARTIAL
                                                                      : KC_BGZF_FOREIGN;
                if (header.block_nbytes > n - *at)
                        return KC_BGZF_PARTIAL;
                enum kc_bgzf_stop stop = append(table, bytes, *at, &header);
                if (stop != KC_BGZF_END)
                        return stop;
                *at += header.block_nbytes;
        }
        return KC_BGZF_END;
}
