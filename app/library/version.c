#include "include/kcount.h"

const char *kcount_version(void)
{
        return KCOUNT_VERSION;
}
