// Extends the failure JSON of the admin side by what is wrong with a configuration (RFC 9457 §3.2).
// Domain: pure

import CryoJSON

enum AdminProblems {
    /// More are counted only: who mends the first hundred asks again.
    static let shownMax = 100

    /// Adds the member `problems`, a list of texts, to the end of a rendered JSON object.
    static func append(_ problems: [String], to body: inout [UInt8]) {
        guard !problems.isEmpty, let end = body.lastIndex(of: 0x7D) else { return }
        var writer = JSONWriter()
        write(problems, to: &writer)
        body.replaceSubrange(end..<(end + 1), with: Array(",\"problems\":".utf8) + writer.bytes + [0x7D])
    }

    static func write(_ problems: [String], to writer: inout JSONWriter) {
        writer.beginArray()
        for problem in problems.prefix(shownMax) { writer.string(problem) }
        if problems.count > shownMax { writer.string("… and \(problems.count - shownMax) more") }
        writer.endArray()
    }
}
