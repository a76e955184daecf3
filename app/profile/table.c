#include "app/profile/table.h"

void profile_put_header(struct profile_text *text)
{
        profile_put(text, "name\tlength\twindows\tfound\tshare\tmin\tq1\tmedian\tq3\tmax\tmean\n");
}

/* a / b, rounded to that many digits, half up. b * 10^ndigits fits in 64 bits. */
static void put_ratio(struct profile_text *text, uint64_t a, uint64_t b, int ndigits)
{
        uint64_t scale = 1;
        for (int i = 0; i < ndigits; i++)
                scale *= 10;
        const uint64_t fraction = (a % b * scale + b / 2) / b;
        profile_put_number(text, "\t", a / b + fraction / scale);
        profile_put(text, ".");
        profile_put_digits(text, fraction % scale, ndigits);
}

static void put_quarters(struct profile_text *text, uint64_t quarters)
{
        static const char *const fractions[] = { "", ".25", ".5", ".75" };
        profile_put_number(text, "\t", quarters / 4);
        profile_put(text, fractions[quarters % 4]);
}

void profile_put_row(struct profile_text *text, const struct profile_name *name,
                     const struct profile_row *row)
{
        const struct kc_ask_summary *s = &row->summary;
        profile_put_bytes(text, name->bytes, name->nbytes);
        profile_put_number(text, "\t", row->length);
        profile_put_number(text, "\t", s->nvalid);
        profile_put_number(text, "\t", s->nfound);
        if (s->nvalid == 0) {
                profile_put(text, "\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n");
                return;
        }
        put_ratio(text, s->nfound, s->nvalid, 6);
        profile_put_number(text, "\t", s->min);
        for (int i = 0; i < KC_WINDOW_TALLY_NQUARTILES; i++)
                put_quarters(text, row->quarters[i]);
        profile_put_number(text, "\t", s->max);
        put_ratio(text, s->sum, s->nvalid, 3);
        profile_put(text, "\n");
}

void profile_json_row(struct json *json, const struct profile_row *row)
{
        const struct kc_ask_summary *s = &row->summary;
        json_number(json, "length", row->length);
        json_number(json, "windows", s->nvalid);
        json_number(json, "found", s->nfound);
        if (s->nvalid == 0)
                return;
        json_share(json, "share", s->nfound, s->nvalid);
        json_number(json, "min", s->min);
        json_real(json, "q1", (double)row->quarters[0] / 4);
        json_real(json, "median", (double)row->quarters[1] / 4);
        json_real(json, "q3", (double)row->quarters[2] / 4);
        json_number(json, "max", s->max);
        json_real(json, "mean", (double)s->sum / (double)s->nvalid);
}
