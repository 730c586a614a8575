#include "CInspector.h"

// #embed is of C23; clang has it in every language mode and rebuilds this file when an embedded one changes.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "Page/inspector.html"
};
static const unsigned char style[] = {
#embed "Page/inspector.css"
};
static const unsigned char words[] = {
#embed "Page/words.js"
};
static const unsigned char elements[] = {
#embed "Page/elements.js"
};
static const unsigned char gateway[] = {
#embed "Page/gateway.js"
};
static const unsigned char list[] = {
#embed "Page/list.js"
};
static const unsigned char charts[] = {
#embed "Page/charts.js"
};
static const unsigned char bodies[] = {
#embed "Page/bodies.js"
};
static const unsigned char detail[] = {
#embed "Page/detail.js"
};
static const unsigned char running[] = {
#embed "Page/running.js"
};
static const unsigned char tokens[] = {
#embed "Page/tokens.js"
};
static const unsigned char inspector[] = {
#embed "Page/inspector.js"
};

static const struct cryo_page_file files[] = {
    {"inspector.html", document, sizeof document}, {"inspector.css", style, sizeof style}, {"words.js", words, sizeof words},
    {"elements.js", elements, sizeof elements},    {"gateway.js", gateway, sizeof gateway}, {"list.js", list, sizeof list},
    {"charts.js", charts, sizeof charts},          {"bodies.js", bodies, sizeof bodies},    {"detail.js", detail, sizeof detail},
    {"running.js", running, sizeof running},       {"tokens.js", tokens, sizeof tokens},    {"inspector.js", inspector, sizeof inspector},
};

size_t cryo_page_count(void) { return sizeof files / sizeof files[0]; }
struct cryo_page_file cryo_page_at(size_t index) { return files[index]; }
