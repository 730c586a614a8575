// What is a trace and what is none (W3C Trace Context §2.2).
// Domain: cold

import Testing

@testable import CryoHTTP

@Suite("Trace contexts")
struct TraceContextTests {
    private static let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private func read(_ text: String) -> TraceContext? { Array(text.utf8).withUnsafeBytes { TraceContext($0) } }

    @Test("a valid one is read and written back as it was")
    func valid() {
        let context = read(Self.good)
        #expect(context.map { String(decoding: $0.bytes, as: UTF8.self) } == Self.good)
        #expect(context?.traceID == Array("4bf92f3577b34da6a3ce929d0e0e4736".utf8))
        #expect(context?.parentID == Array("00f067aa0ba902b7".utf8) && context?.flags == Array("01".utf8))
    }

    private static let broken: [String] = [
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-010",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", "00-4bg92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
    ]

    @Test("everything else counts as absent", arguments: broken)
    func invalid(_ text: String) { #expect(read(text) == nil) }

    @Test("of a later version the known members are taken, and version 00 is written")
    func later() {
        for text in ["01" + Self.good.dropFirst(2), "cc" + Self.good.dropFirst(2) + "-what-the-future-brings"] {
            #expect(read(text).map { String(decoding: $0.bytes, as: UTF8.self) } == Self.good)
        }
    }
}
