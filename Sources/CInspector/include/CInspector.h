// The files of the inspector page, as the compiler found them: edit them under Page/ and build again.
// Types and addresses only; CryoAdmin puts the page together.
#pragma once

#include <stddef.h>

struct cryo_page_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

// In the order in which they belong into the page: the document, the style, the scripts.
size_t cryo_page_count(void);
struct cryo_page_file cryo_page_at(size_t index);
