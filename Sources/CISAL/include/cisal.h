// Owns the view of ISA-L's gzip that Swift sees; macros that Swift does not see become constants.
// Domain: cold
#ifndef CRYO_ISAL_H
#define CRYO_ISAL_H

#include <isa-l/igzip_lib.h>

/// The memory that the first level works with.
enum { CRYO_ISAL_LEVEL_BYTES = ISAL_DEF_LVL1_DEFAULT };

#endif
