#include "io/inflate/gunzip.h"

#include "io/input/bgzf_header.h"
#include "io/input/damage.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
        STEP = 1 << 16,     /* text between checks whether all marks are gone */
        TRAILER_NBYTES = 8, /* CRC-32 and length */
        SUMMED_NBYTES = 1 << 15,
        FIXED_HEADER = 10, /* bytes of a member's header that are always present */
};

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
}

/* ---- room ---- */

static enum kc_status reserve(void **memory, size_t *cap, size_t need, size_t nbytes_each,
                              struct kc_error *err)
{
        if (need <= *cap)
                return KC_OK;
        size_t more = *cap + *cap / 2 > need ? *cap + *cap / 2 : need;
        void *grown = realloc(*memory, more * nbytes_each);
        if (grown == NULL)
                return no_memory(err);
        *memory = grown;
        *cap = more;
        return KC_OK;
}

static enum kc_status reserve_symbols(struct kc_region *region, size_t more, struct kc_error *err)
{
        size_t need = KC_WINDOW + region->nsymbols + more + KC_DEFLATE_SLACK;
        return reserve((void **)&region->symbols, &region->symbols_cap, need, 2, err);
}

static enum kc_status reserve_bytes(struct kc_region *region, size_t more, struct kc_error *err)
{
        size_t need = KC_WINDOW + region->nbytes + more + KC_DEFLATE_SLACK;
        return reserve((void **)&region->bytes, &region->bytes_cap, need, 1, err);
}

static enum kc_status init_place(struct kc_gunzip_place *place, struct kc_error *err)
{
        if (place->deflate == NULL)
                place->deflate = malloc(sizeof *place->deflate);
        return place->deflate == NULL ? no_memory(err) : KC_OK;
}

enum kc_status kc_gunzip_init(struct kc_gunzip *gunzip, const char *name, uint64_t size,
                              struct kc_error *err)
{
        memset(gunzip, 0, sizeof *gunzip);
        gunzip->name = name;
        gunzip->size = size;
        return init_place(&gunzip->place, err);
}

void kc_gunzip_free(struct kc_gunzip *gunzip)
{
        free(gunzip->place.deflate);
}

void kc_region_free(struct kc_region *region)
{
        free(region->place.deflate);
        free(region->symbols);
        free(region->bytes);
        free(region->ends);
}

void kc_region_empty(struct kc_region *region)
{
        region->key = KC_NO_BLOCK;
        region->nsymbols = region->nbytes = region->nwindow = region->nends = 0;
        region->open_before = 0;
}

/* ---- between members ---- */

enum verdict {
        SOUND,
        NEEDS_INPUT,
        BAD_DATA,
        NO_HEADER,
        BAD_FLAGS,
        BAD_HEADER,
        AFTER_PADDING,
        NO_END_BLOCK,
};

enum { FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16, RESERVED = 0xe0 };

/* The bytes at the place; *n: how many of them are in view. */
static const uint8_t *bytes_at(const struct kc_gunzip_place *place, const struct kc_view *view,
                               size_t *n)
{
        size_t at = (size_t)(place->bit / 8 - view->offset);
        *n = at < view->n ? view->n - at : 0;
        return view->data + (at < view->n ? at : view->n);
}

/* Step over n bytes of a header. */
static void take(struct kc_gunzip_place *place, const uint8_t *bytes, size_t n)
{
        place->header.crc = libdeflate_crc32(place->header.crc, bytes, n);
        place->bit += 8 * (uint64_t)n;
}

static enum verdict begin_header(struct kc_gunzip_place *place, const uint8_t *bytes, size_t n)
{
        static const uint8_t magic[3] = { 0x1f, 0x8b, 8 };
        if (memcmp(bytes, magic, n < sizeof magic ? n : sizeof magic) != 0)
                return NO_HEADER;
        if (n < FIXED_HEADER)
                return NEEDS_INPUT;
        if (bytes[3] & RESERVED)
                return BAD_FLAGS;
        bool extra = (bytes[3] & FEXTRA) != 0;
        size_t taken = FIXED_HEADER + (extra ? 2 : 0);
        if (n < taken)
                return NEEDS_INPUT;
        uint32_t header = extra ? kc_bgzf_header_nbytes(bytes) : 0;
        if (n < header && header <= KC_BGZF_LONGEST_NBYTES)
                return NEEDS_INPUT;
        place->bgzf = header <= KC_BGZF_LONGEST_NBYTES &&
                      kc_bgzf_parse(bytes, n, &(struct kc_bgzf_header){ 0 });
        place->header.begin = place->bit / 8;
        place->header.flags = bytes[3];
        place->header.crc = 0;
        place->header.left = 0;
        if (extra)
                place->header.left = (uint16_t)(bytes[taken - 2] | bytes[taken - 1] << 8);
        take(place, bytes, taken);
        place->phase = KC_IN_EXTRA;
        return SOUND;
}

static enum verdict skip_extra(struct kc_gunzip_place *place, const uint8_t *bytes, size_t n)
{
        size_t taken = n < place->header.left ? n : place->header.left;
        take(place, bytes, taken);
        place->header.left -= (uint16_t)taken;
        if (place->header.left > 0)
                return NEEDS_INPUT;
        place->phase = KC_IN_NAME;
        return SOUND;
}

/* Skip a string that ends with 0, if the header has it. */
static enum verdict skip_string(struct kc_gunzip_place *place, const uint8_t *bytes, size_t n,
                                unsigned flag)
{
        if (place->header.flags & flag) {
                const uint8_t *zero = n > 0 ? memchr(bytes, 0, n) : NULL;
                take(place, bytes, zero == NULL ? n : (size_t)(zero - bytes) + 1);
                if (zero == NULL)
                        return NEEDS_INPUT;
        }
        place->phase++;
        return SOUND;
}

static enum verdict end_header(struct kc_gunzip_place *place, const uint8_t *bytes, size_t n)
{
        uint32_t want = place->header.crc & 0xffff;
        if (place->header.flags & FHCRC) {
                if (n < 2)
                        return NEEDS_INPUT;
                if (want != (bytes[0] | (uint32_t)bytes[1] << 8))
                        return BAD_HEADER;
                take(place, bytes, 2);
        }
        place->phase = KC_IN_DATA;
        place->between_blocks = true;
        kc_deflate_begin(place->deflate, 0);
        return SOUND;
}

static enum verdict walk_header(struct kc_gunzip_place *place, const struct kc_view *view)
{
        size_t n;
        const uint8_t *bytes = bytes_at(place, view, &n);
        switch (place->phase) {
        case KC_AT_MEMBER:
                return begin_header(place, bytes, n);
        case KC_IN_EXTRA:
                return skip_extra(place, bytes, n);
        case KC_IN_NAME:
                return skip_string(place, bytes, n, FNAME);
        case KC_IN_COMMENT:
                return skip_string(place, bytes, n, FCOMMENT);
        default:
                return end_header(place, bytes, n);
        }
}

static uint32_t u32_at(const uint8_t *bytes)
{
        return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
               (uint32_t)bytes[3] << 24;
}

static enum verdict end_member(struct kc_gunzip_place *place, const struct kc_view *view,
                               struct kc_member_end *end)
{
        size_t n;
        const uint8_t *bytes = bytes_at(place, view, &n);
        if (n < TRAILER_NBYTES)
                return NEEDS_INPUT;
        end->crc = u32_at(bytes);
        end->nbytes = u32_at(bytes + 4);
        place->bit += 8 * TRAILER_NBYTES;
        end->offset = place->bit / 8;
        place->phase = KC_IN_PADDING;
        place->padded = false;
        place->open = place->bgzf && end->nbytes > 0;
        end->open = false;
        return SOUND;
}

/* Skip zeros after a member. Another member or the file's end must follow; after zeros, only the
 * end. After BGZF, they are padding only if its end-of-file block comes before them. */
static enum verdict skip_padding(struct kc_gunzip_place *place, const struct kc_view *view)
{
        size_t n, nzeros = 0;
        const uint8_t *bytes = bytes_at(place, view, &n);
        while (nzeros < n && bytes[nzeros] == 0)
                nzeros++;
        if (nzeros > 0 && place->open)
                return NO_END_BLOCK;
        place->bit += 8 * (uint64_t)nzeros;
        place->padded |= nzeros > 0;
        if (nzeros == n && !view->ends)
                return NEEDS_INPUT;
        if (nzeros < n && place->padded)
                return AFTER_PADDING;
        place->phase = nzeros == n ? KC_AT_END : KC_AT_MEMBER;
        return SOUND;
}

/* ---- inflating ---- */

/* A walk through the file, from a place on. */
struct member_walk {
        struct kc_region *region;
        struct kc_gunzip_place *place;
        const struct kc_view *view;
        uint64_t to; /* bit: stop at the first block from there on */
        size_t max;
        bool marked;                          /* text goes to symbols, not to bytes */
        const struct kc_guess_limits *limits; /* of a guess */
        enum verdict verdict;
};

static size_t text_nbytes(const struct kc_region *region)
{
        return region->nsymbols + region->nbytes;
}

static enum kc_deflate_stop inflate_symbols(struct member_walk *walk, size_t n)
{
        struct kc_region *region = walk->region;
        uint16_t *text = region->symbols + KC_WINDOW;
        struct kc_deflate_symbols out = { .begin = region->symbols,
                                          .next = text + region->nsymbols };
        out.end = out.next + n;
        enum kc_deflate_stop stop =
                kc_deflate_symbols(walk->place->deflate, walk->view->data, walk->view->n, &out);
        region->nsymbols = (size_t)(out.next - text);
        return stop;
}

static enum kc_deflate_stop inflate_bytes(struct member_walk *walk, size_t n)
{
        struct kc_region *region = walk->region;
        uint8_t *text = region->bytes + KC_WINDOW;
        struct kc_deflate_bytes out = { .next = text + region->nbytes };
        out.begin = out.next - region->nwindow;
        out.end = out.next + n;
        enum kc_deflate_stop stop =
                kc_deflate_bytes(walk->place->deflate, walk->view->data, walk->view->n, &out);
        region->nwindow += (size_t)(out.next - text) - region->nbytes;
        region->nbytes = (size_t)(out.next - text);
        return stop;
}

/* From here on the window is known: put its bytes before those to come. */
static enum kc_status leave_marks(struct member_walk *walk, size_t nwindow, struct kc_error *err)
{
        struct kc_region *region = walk->region;
        enum kc_status status = reserve_bytes(region, STEP, err);
        if (status != KC_OK)
                return status;
        region->nwindow = nwindow;
        const uint16_t *symbols = region->symbols + KC_WINDOW + region->nsymbols - nwindow;
        for (size_t i = 0; i < nwindow; i++)
                region->bytes[KC_WINDOW - nwindow + i] = (uint8_t)symbols[i];
        walk->marked = false;
        return KC_OK;
}

/* Inflate a little. Sets *stop. */
static enum kc_status step(struct member_walk *walk, enum kc_deflate_stop *stop,
                           struct kc_error *err)
{
        struct kc_region *region = walk->region;
        enum kc_status status = KC_OK;
        if (walk->marked) {
                KC_TRY(reserve_symbols(region, STEP, err));
                *stop = inflate_symbols(walk, STEP);
                if (region->nsymbols >= KC_WINDOW &&
                    kc_deflate_nplain(region->symbols + KC_WINDOW + region->nsymbols - KC_WINDOW,
                                      KC_WINDOW) == KC_WINDOW)
                        KC_TRY(leave_marks(walk, KC_WINDOW, err));
        } else {
                KC_TRY(reserve_bytes(region, STEP, err));
                *stop = inflate_bytes(walk, STEP);
        }
out:
        return status;
}

/* Does a block begin here with which a later region should begin? */
static bool is_region_end(const struct member_walk *walk)
{
        uint64_t offset = 8 * walk->view->offset, bit = walk->place->bit;
        if (walk->place->phase != KC_IN_DATA || !walk->place->between_blocks || bit + 16 < walk->to)
                return false;
        uint64_t key = kc_deflate_block_key(walk->view->data, walk->view->n, bit - offset);
        if (key == KC_NO_BLOCK)
                return false;
        if (key &
            KC_STORED_KEY) /* as in the finder: the block's type lies within the region, too */
                return (key ^ KC_STORED_KEY) + offset > walk->to;
        return key + offset >= walk->to;
}

static bool has_ended(const struct kc_guess_limits *limits)
{
        return limits != NULL && limits->has_ended != NULL && limits->has_ended(limits->ctx);
}

/* Inflate some data of a member. *done: the region ends here. */
static enum kc_status walk_data(struct member_walk *walk, bool *done, struct kc_error *err)
{
        struct kc_gunzip_place *place = walk->place;
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        place->deflate->bit = place->bit - 8 * walk->view->offset;
        place->deflate->stop_at_blocks = true;
        enum kc_status status = step(walk, &stop, err);
        place->bit = place->deflate->bit + 8 * walk->view->offset;
        place->between_blocks = place->deflate->phase == KC_IN_HEADER;
        if (status != KC_OK)
                return status;
        if (stop == KC_DEFLATE_INPUT)
                walk->verdict = NEEDS_INPUT;
        if (stop == KC_DEFLATE_BAD)
                walk->verdict = BAD_DATA;
        if (stop == KC_DEFLATE_END) {
                place->phase = KC_AT_TRAILER;
                place->bit = (place->bit + 7) / 8 * 8;
        }
        *done = walk->verdict != SOUND || is_region_end(walk) ||
                text_nbytes(walk->region) >= walk->max || has_ended(walk->limits);
        return KC_OK;
}

static enum kc_status walk_trailer(struct member_walk *walk, struct kc_error *err)
{
        struct kc_region *region = walk->region;
        enum kc_status status = reserve((void **)&region->ends, &region->ends_cap,
                                        region->nends + 1, sizeof *region->ends, err);
        if (status != KC_OK)
                return status;
        struct kc_member_end *end = &region->ends[region->nends];
        walk->verdict = end_member(walk->place, walk->view, end);
        if (walk->verdict != SOUND)
                return KC_OK;
        end->text = text_nbytes(region);
        region->nends++;
        region->nwindow = 0;
        return walk->marked ? leave_marks(walk, 0, err) : KC_OK;
}

/* Once it is known what follows a member, another header or the end of the file: if the member was
 * a BGZF block with text and no other block follows, BGZF ends there without its end-of-file block.
 * */
static void settle_end(struct member_walk *walk)
{
        struct kc_gunzip_place *place = walk->place;
        struct kc_region *region = walk->region;
        const bool ended = place->phase == KC_AT_END;
        if (!place->open || (!ended && place->phase != KC_IN_EXTRA))
                return;
        place->open = false;
        if (place->bgzf && !ended)
                return;
        if (region->nends > 0)
                region->ends[region->nends - 1].open = true;
        else
                region->open_before = ended ? place->bit / 8 : place->header.begin;
}

/* Go on until the region is done or cannot be continued (walk->verdict). */
static enum kc_status walk_on(struct member_walk *walk, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool done = false;
        while (status == KC_OK && !done && walk->verdict == SOUND) {
                switch (walk->place->phase) {
                case KC_IN_DATA:
                        status = walk_data(walk, &done, err);
                        break;
                case KC_AT_TRAILER:
                        status = walk_trailer(walk, err);
                        break;
                case KC_IN_PADDING:
                        walk->verdict = skip_padding(walk->place, walk->view);
                        settle_end(walk);
                        break;
                case KC_AT_END:
                        return KC_OK;
                default:
                        walk->verdict = walk_header(walk->place, walk->view);
                        settle_end(walk);
                }
        }
        return status;
}

enum kc_status kc_region_guess(struct kc_region *region, const struct kc_view *view, uint64_t from,
                               const struct kc_guess_limits *limits, struct kc_error *err)
{
        enum kc_status status;
        struct member_walk walk = { .region = region,
                                    .place = &region->place,
                                    .view = view,
                                    .to = 8 * limits->to,
                                    .max = limits->max,
                                    .marked = true,
                                    .limits = limits };
        kc_region_empty(region);
        uint64_t bit = kc_deflate_find(view->data, view->n, 8 * (from - view->offset),
                                       8 * (limits->to - view->offset));
        if (bit == KC_NO_BLOCK)
                return KC_OK;
        KC_TRY(init_place(&region->place, err));
        KC_TRY(reserve_symbols(region, STEP, err));
        kc_deflate_put_marks(region->symbols);
        region->key = kc_deflate_block_key(view->data, view->n, bit) + 8 * view->offset;
        region->place.phase = KC_IN_DATA;
        region->place.bit = bit + 8 * view->offset;
        region->place.bgzf = true;
        region->place.open = false;
        kc_deflate_begin(region->place.deflate, bit);
        KC_TRY(walk_on(&walk, err));
out:
        return status;
}

/* ---- in the file's order ---- */

static enum kc_status complain(const struct kc_gunzip *gunzip, const struct member_walk *walk,
                               struct kc_error *err)
{
        const struct kc_gunzip_place *place = walk->place;
        uint64_t byte = place->bit / 8;
        switch (walk->verdict) {
        case NEEDS_INPUT:
                if (!walk->view->ends)
                        return KC_OK;
                return kc_damage_truncated(gunzip->name, "gzip", walk->view->offset + walk->view->n,
                                           err);
        case BAD_DATA:
                return kc_damage_corrupt(gunzip->name, "invalid compressed data, found before",
                                         byte + 1, err);
        case NO_HEADER:
        case AFTER_PADDING:
                return kc_damage_trailing(&(struct kc_trailing){ gunzip->name, "gzip", byte,
                                                                 gunzip->size,
                                                                 walk->verdict == AFTER_PADDING },
                                          err);
        case NO_END_BLOCK:
                return kc_damage_no_end_block(gunzip->name, byte, false, "gzip -dc FILE", err);
        case BAD_FLAGS:
                return kc_damage_corrupt(gunzip->name, "unknown flags in the gzip header at", byte,
                                         err);
        case BAD_HEADER:
                return kc_damage_corrupt(gunzip->name, "wrong checksum of the gzip header at",
                                         place->header.begin, err);
        default:
                return KC_OK;
        }
}

/*
 * Is the guess what comes next? If fewer than KC_WINDOW bytes precede it, its distances could reach
 * too far back, and only a decoder that knows the window notices.
 */
static bool is_guess_right(const struct kc_region *region, const struct kc_gunzip *gunzip,
                           const struct kc_view *view)
{
        const struct kc_gunzip_place *place = &gunzip->place;
        uint64_t offset = 8 * view->offset;
        if (region->key == KC_NO_BLOCK || place->phase != KC_IN_DATA || !place->between_blocks ||
            gunzip->nwindow < KC_WINDOW)
                return false;
        uint64_t key = kc_deflate_block_key(view->data, view->n, place->bit - offset);
        return key != KC_NO_BLOCK && key + offset == region->key;
}

/* Move the last bytes of the region's text into the window; `before` is the window before the
 * region. */
static void pass_window(const struct kc_region *region, struct kc_gunzip *gunzip,
                        const uint8_t before[KC_WINDOW], size_t nbefore)
{
        uint8_t *window = gunzip->window;
        struct kc_meanings meanings;
        size_t nbytes = region->nbytes < KC_WINDOW ? region->nbytes : KC_WINDOW, left;
        left = KC_WINDOW - nbytes;
        size_t nsymbols = region->nsymbols < left ? region->nsymbols : left;
        left -= nsymbols;
        memcpy(window, before + KC_WINDOW - left, left);
        if (nsymbols > 0) {
                kc_deflate_give_meaning(&meanings, before);
                kc_deflate_resolve(window + left,
                                   region->symbols + KC_WINDOW + region->nsymbols - nsymbols,
                                   nsymbols, &meanings);
        }
        if (nbytes > 0)
                memcpy(window + left + nsymbols,
                       region->bytes + KC_WINDOW + region->nbytes - nbytes, nbytes);
        size_t reach = text_nbytes(region);
        if (region->nends > 0)
                reach -= region->ends[region->nends - 1].text;
        else
                reach += nbefore;
        gunzip->nwindow = reach < KC_WINDOW ? reach : KC_WINDOW;
}

/* Put the bytes before the place where they are needed to go on with a known window. */
static enum kc_status put_window(struct kc_region *region, const struct kc_gunzip *gunzip,
                                 struct kc_error *err)
{
        if (region->nbytes > 0)
                return KC_OK;
        enum kc_status status = reserve_bytes(region, STEP, err);
        if (status != KC_OK)
                return status;
        memcpy(region->bytes, gunzip->window, KC_WINDOW);
        region->nwindow = gunzip->nwindow;
        return KC_OK;
}

/* The guess is right, but its first member, which begins before it, is not a BGZF block. */
static void correct_guess(struct kc_region *region)
{
        if (region->nends == 0)
                region->place.bgzf = false;
        else
                region->ends[0].open = false;
        if (region->nends == 1)
                region->place.open = false;
}

enum kc_status kc_region_accept(struct kc_region *region, struct kc_gunzip *gunzip,
                                uint8_t window[KC_WINDOW], const struct kc_view *view, uint64_t to,
                                size_t max, bool *done, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nwindow = gunzip->nwindow;
        struct member_walk walk = {
                .region = region, .place = &gunzip->place, .view = view, .to = 8 * to, .max = max
        };
        memcpy(window, gunzip->window, KC_WINDOW);
        if (is_guess_right(region, gunzip, view)) {
                struct kc_gunzip_place place = gunzip->place;
                if (!place.bgzf)
                        correct_guess(region);
                gunzip->place = region->place;
                region->place = place;
                pass_window(region, gunzip, window, nwindow);
        } else {
                kc_region_empty(region);
        }
        region->key = KC_NO_BLOCK; /* no longer a guess */
        *done = is_region_end(&walk);
        if (text_nbytes(region) >= max || *done)
                return KC_OK;
        KC_TRY(put_window(region, gunzip, err));
        KC_TRY(walk_on(&walk, err));
        *done = gunzip->place.phase == KC_AT_END || is_region_end(&walk);
        pass_window(region, gunzip, window, nwindow);
        KC_TRY(complain(gunzip, &walk, err));
out:
        return status;
}

/* ---- checksums ---- */

static enum kc_status compare(const char *name, const struct kc_member_end *end, uint32_t crc,
                              uint64_t nbytes, struct kc_error *err)
{
        if (end->crc == crc && end->nbytes == (uint32_t)nbytes)
                return KC_OK;
        return kc_damage_corrupt(name, "checksum or length of a gzip member is wrong, found before",
                                 end->offset, err);
}

/* Write the region's text [from, to). */
static void write_text(const struct kc_region *region, const struct kc_meanings *meanings,
                       size_t from, size_t to, uint8_t *text)
{
        size_t middle = to < region->nsymbols ? to : region->nsymbols;
        if (from < middle) {
                kc_deflate_resolve(text + from, region->symbols + KC_WINDOW + from, middle - from,
                                   meanings);
                from = middle;
        }
        if (from < to)
                memcpy(text + from, region->bytes + KC_WINDOW + from - region->nsymbols, to - from);
}

/* Likewise, and return its checksum; in small steps, so that text is summed while in the cache. */
static uint32_t write_and_sum(const struct kc_region *region, const struct kc_meanings *meanings,
                              size_t from, size_t to, uint8_t *text)
{
        uint32_t crc = 0;
        for (size_t next; from < to; from = next) {
                next = to - from < SUMMED_NBYTES ? to : from + SUMMED_NBYTES;
                write_text(region, meanings, from, next, text);
                crc = libdeflate_crc32(crc, text + from, next - from);
        }
        return crc;
}

enum kc_status kc_region_finish(const struct kc_region *region, const uint8_t window[KC_WINDOW],
                                uint8_t *text, struct kc_region_sums *sums, const char *name,
                                struct kc_error *err)
{
        struct kc_meanings meanings;
        enum kc_status status = KC_OK;
        size_t begin = 0, ntext = text_nbytes(region);
        if (region->nsymbols > 0)
                kc_deflate_give_meaning(&meanings, window);
        memset(sums, 0, sizeof *sums);
        for (size_t i = 0; i <= region->nends; i++) {
                size_t end = i < region->nends ? region->ends[i].text : ntext;
                uint32_t crc = write_and_sum(region, &meanings, begin, end, text);
                if (i == 0) {
                        sums->head_crc = crc;
                        sums->head_nbytes = end;
                } else if (i == region->nends) {
                        sums->tail_crc = crc;
                        sums->tail_nbytes = end - begin;
                } else {
                        KC_TRY(compare(name, &region->ends[i], crc, end - begin, err));
                }
                begin = end;
        }
out:
        return status;
}

enum kc_status kc_gunzip_fold(struct kc_gunzip *gunzip, const struct kc_region *region,
                              const struct kc_region_sums *sums, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        gunzip->crc =
                (uint32_t)crc32_combine(gunzip->crc, sums->head_crc, (z_off_t)sums->head_nbytes);
        gunzip->nbytes += sums->head_nbytes;
        if (region->nends > 0) {
                status = compare(gunzip->name, &region->ends[0], gunzip->crc, gunzip->nbytes, err);
                gunzip->crc = sums->tail_crc;
                gunzip->nbytes = sums->tail_nbytes;
        }
        return status;
}
