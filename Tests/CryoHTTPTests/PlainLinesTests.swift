// The short way for plain lines: it reads what the careful way reads, and nothing else; heads in pieces are the same heads.
// Domain: cold

import Testing

@testable import CryoHTTP

@Suite("Plain lines")
struct PlainLinesTests {
    private static let unbounded = PlainLineBounds(lineBytesMax: .max, endMax: .max, linesMax: .max)

    /// The line as the careful way reads it; nil when it does not.
    private func careful(_ line: [UInt8]) -> FieldLine? {
        line.withUnsafeBytes { bytes in
            guard case .line(let end, _) = scanLine(bytes, from: 0), case .line(let field) = parseFieldLine(bytes, 0..<end) else {
                return nil
            }
            return field
        }
    }

    private func plain(_ line: [UInt8]) -> (line: FieldLine?, end: Int) {
        var fields = FieldSection()
        let end = line.withUnsafeBytes { fields.addPlainLines($0, from: 0, base: 0, Self.unbounded) }
        return (fields.lines.first, end)
    }

    @Test("every byte at every place of a line is read alike both ways", arguments: ["Content-Length: 12, a", "X:", "Ab1: \tx y \t"])
    func everyByte(_ text: String) {
        for place in 0..<text.utf8.count {
            for byte in UInt8.min...UInt8.max {
                var line = latin(text + "\r\nNext: 1\r\n")
                line[place] = byte
                // An empty line ends a head; where one begins, nothing is plain.
                if line[0] == 0x0D { continue }
                let expected = careful(line)
                let got = plain(line)
                if got.line != expected { Issue.record("\(text) with \(byte) at \(place): \(String(describing: got.line))") }
                if expected == nil, got.end != 0 { Issue.record("\(text) with \(byte) at \(place) was used") }
            }
        }
    }

    @Test("a line without its end is left alone, wherever the bytes stop")
    func unfinished() {
        let line = latin("Content-Type: application/json\r\n")
        for count in 0..<line.count { #expect(plain(Array(line[..<count])).line == nil) }
        #expect(plain(line).end == line.count)
    }

    @Test("each bound holds at the bound, and one above is left to the careful way")
    func bounds() {
        func used(_ lineBytesMax: Int, _ endMax: Int, _ linesMax: Int) -> Int {
            var fields = FieldSection()
            let bounds = PlainLineBounds(lineBytesMax: lineBytesMax, endMax: endMax, linesMax: linesMax)
            return latin("A: 1\r\nB: 2\r\n\r\n").withUnsafeBytes { fields.addPlainLines($0, from: 0, base: 0, bounds) }
        }
        #expect(used(4, 10, 2) == 12)
        #expect(used(3, 10, 2) == 0)
        #expect(used(4, 9, 2) == 6)
        #expect(used(4, 10, 1) == 6)
        #expect(used(4, -1, 2) == 0)
    }

    @Test("more lines than the table holds at first")
    func manyLines() {
        let input = (0..<100).map { "X-\($0): \($0)\r\n" }.joined()
        var fields = FieldSection()
        let bytes = latin(input)
        let used = bytes.withUnsafeBytes { fields.addPlainLines($0, from: 0, base: 0, Self.unbounded) }
        bytes.withUnsafeBytes { fields.appendBytes($0) }
        #expect(used == bytes.count && fields.lines.count == 100 && text(of: fields, at: 99) == "99" && fields.contains("x-57"))
    }

    private func text(of fields: FieldSection, at index: Int) -> String {
        fields.withValue(at: index) { String(decoding: $0, as: UTF8.self) }
    }

    @Test("a token ends, and a control is found, where they are byte by byte, wherever in a piece they lie")
    func pieceByPiece() {
        func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }
        for count in 1...40 {
            for place in 0..<count {
                for byte in UInt8.min...UInt8.max {
                    // What follows would end the search as well: the first one counts.
                    var bytes = [UInt8](repeating: 0x2D, count: count)
                    for index in bytes.indices where index % 3 == 0 { bytes[index] = 0x41 + UInt8(index % 26) }
                    bytes[place] = byte
                    if place + 2 < count { bytes[place + 2] = 0x0D }
                    bytes.withUnsafeBytes { bytes in
                        let token = endOfToken(bytes, from: 0, to: count)
                        let control = firstControl(bytes, from: 0, to: count)
                        if token != bytes.firstIndex(where: { !isTokenByte($0) }) ?? count { Issue.record("token \(Array(bytes))") }
                        if control != bytes.firstIndex(where: isControl) ?? count { Issue.record("control \(Array(bytes))") }
                    }
                }
            }
        }
    }

    @Test("a head that comes in two pieces is the same head, wherever it was cut")
    func pieces() {
        let input = latin("HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nServer: s\r\nX-Odd:\tb \r\nContent-Length: 2\r\n\r\nok")
        for cut in 0...input.count {
            var reader = ResponseHeadReader(limits: .response)
            var head: ResponseHead?
            var rest: [UInt8] = []
            for piece in [input[..<cut], input[cut...]] {
                guard head == nil else {
                    rest += piece
                    continue
                }
                Array(piece).withUnsafeBytes { bytes in
                    var used = 0
                    switch reader.read(bytes, used: &used) {
                    case .more: #expect(used == bytes.count)
                    case .head(let read, let minorVersion, _):
                        head = read
                        #expect(minorVersion == 1)
                    case .malformed: Issue.record("malformed when cut at \(cut)")
                    }
                    rest += bytes[used...]
                }
            }
            #expect(head?.status == 200 && head.map { lines($0.fields) } == ["Server: s", "X-Odd: b", "Content-Length: 2"])
            #expect(rest == Array("ok".utf8))
        }
    }

    @Test("a line that does not end is refused above the bound, and a reader that was reset reads on")
    func endless() {
        var reader = ResponseHeadReader(limits: HeadLimits(fieldBytesMax: 20))
        var used = 0
        func read(_ text: String) -> String {
            switch latin(text).withUnsafeBytes({ reader.read($0, used: &used) }) {
            case .more: "more"
            case .head: "head"
            case .malformed: "malformed"
            }
        }
        #expect(read("HTTP/1.1 200 OK\r\n") == "more")
        #expect(read("X: " + repeated("v", 19)) == "more")
        #expect(read("v") == "malformed")
        reader.reset()
        #expect(read("HTTP/1.1 200 OK\r\n\r\nbody") == "head" && used == 19)
        reader.reset()
        #expect(read("HTTP/1.1 200 OK\nA: 1\r\n\r\n") == "malformed")
    }
}
