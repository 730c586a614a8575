// The ids of traces that the gateway begins.
// Domain: cold

import Testing

@testable import CryoPipeline

@Suite("Ids of traces")
struct ExchangeTraceTests {
    @Test("an id is never zeros only")
    func identifiers() {
        #expect(ExchangeTrace.id(0) == Array("0000000000000001".utf8))
        #expect(ExchangeTrace.id(0, 0) == Array("00000000000000000000000000000001".utf8))
        #expect(ExchangeTrace.id(0x0123_4567_89AB_CDEF, 0) == Array("0123456789abcdef0000000000000000".utf8))
    }
}
