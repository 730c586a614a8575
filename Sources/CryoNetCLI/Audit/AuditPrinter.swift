// How records look to people: one line each, or one record whole. Nothing a record holds reaches the terminal as an order.
// Domain: cold

import CryoJSON
import CryoRecord

struct AuditPrinter {
    let output: StandardOutput
    let isJSON: Bool

    func print(_ line: UnsafeRawBufferPointer) {
        if isJSON { return printJSON(line) }
        if let record = RecordView(Array(line)) { output.line(summary(record)) }
    }

    /// The line as it is in the file. On a terminal what it would obey is spelled as JSON escapes, which changes nothing of the value.
    private func printJSON(_ line: UnsafeRawBufferPointer) {
        guard output.isTerminal else { return output.line(line) }
        var text = ""
        for scalar in String(decoding: line, as: UTF8.self).unicodeScalars {
            let isHidden = scalar.value >= 0x7F && PrintableText.text(String(scalar)) != String(scalar)
            let digits = String(scalar.value, radix: 16)
            text += isHidden ? "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits : String(scalar)
        }
        output.line(text)
    }

    // MARK: One line

    private func summary(_ record: RecordView) -> String {
        var words = [
            output.painted(PrintableText.text(record.id), .faint), PrintableText.text(Self.shortTime(record.time)),
            output.painted(padded(record.status == 0 ? "-" : String(record.status), 3), Self.colour(record.status)),
            padded(record.method ?? "-", 6), padded(record.route ?? "-", 10), Self.leading(Self.duration(record.durationMicroseconds), 7),
            PrintableText.text(record.target ?? "-"),
        ]
        if let failure = record.failure { words.append(output.painted(PrintableText.text(failure.reason), .red)) }
        let steps = Dictionary(record.steps.map { ($0.step, $0.outcome) }) { $1 }
        if let refresh = steps["refresh"], refresh != "not_needed" { words.append("refresh:\(PrintableText.text(refresh))") }
        let attempts = record.attempts.count
        if attempts > 1 { words.append("\(attempts) attempts") }
        return words.joined(separator: "  ")
    }

    private func padded(_ text: String, _ width: Int) -> String {
        let text = PrintableText.text(text)
        return text + String(repeating: " ", count: max(0, width - text.count))
    }

    static func leading(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }

    static func colour(_ status: Int) -> StandardOutput.Colour? {
        switch status {
        case 200...299: .green
        case 300...399: .cyan
        case 400...499: .yellow
        case 500...599: .red
        default: nil
        }
    }

    /// `11-30 07:00:00.123`, UTC.
    private static func shortTime(_ time: String) -> String {
        guard time.utf8.count == 27 else { return time }
        let characters = Array(time)
        return String(characters[5..<10]) + " " + String(characters[11..<23])
    }

    /// `812µs`, `3.4ms`, `1.20s`
    static func duration(_ microseconds: Int64) -> String {
        if microseconds < 1000 { return "\(max(0, microseconds))µs" }
        if microseconds < 1_000_000 { return "\(microseconds / 1000).\(microseconds / 100 % 10)ms" }
        let hundredths = microseconds / 10_000 % 100
        return "\(microseconds / 1_000_000).\(hundredths < 10 ? "0" : "")\(hundredths)s"
    }

    // MARK: One record

    func printWhole(_ record: RecordView) {
        func line(_ name: String, _ value: String?) {
            guard let value, !value.isEmpty else { return }
            output.line(output.painted(padded(name, 12), .bold) + "  " + PrintableText.text(value))
        }
        output.line(
            output.painted(record.status == 0 ? "-" : String(record.status), Self.colour(record.status))
                + " \(PrintableText.text(record.method ?? "-")) \(PrintableText.text(record.target ?? "-"))")
        line("id", record.id)
        line("time", record.time)
        line("request id", record.requestID)
        line("client", record.client)
        line("route", record.route)
        line("upstream", record.upstream)
        line("session", record.session)
        line("duration", Self.duration(record.durationMicroseconds))
        line("bytes", "\(record.requestBytes) from the client, \(record.responseBytes) to it")
        if let failure = record.failure {
            line("failure", "\(failure.reason), \(failure.kind), in step \(failure.step)")
            line("detail", failure.detail)
        }
        line("code", record.businessCode)
        line("steps", record.steps.map { "\($0.step)=\($0.outcome)" }.joined(separator: " "))
        for attempt in record.attempts { line("attempt \(attempt.number)", Self.text(attempt)) }
        fields("request headers", record.requestFields)
        body("request body", record.requestBody, isCut: record.isRequestBodyCut)
        fields("response headers", record.responseFields)
        body("response body", record.responseBody, isCut: record.isResponseBodyCut)
    }

    private static func text(_ attempt: RecordedAttempt) -> String {
        var words = ["+\(duration(attempt.start))", duration(attempt.duration), attempt.status.map(String.init) ?? "-", attempt.outcome]
        if let version = attempt.tokenVersion, version > 0 { words.append("token version \(version)") }
        if let refusedBy = attempt.refusedBy { words.append("token refused by \(refusedBy)") }
        if attempt.isReused {
            words.append("connection reused")
        } else if attempt.connect > 0 {
            words.append("dns \(duration(attempt.dns)), connected \(duration(attempt.connect))")
            if attempt.tls > 0 { words.append("tls \(duration(attempt.tls))") }
        }
        if attempt.firstByte > 0 { words.append("first byte \(duration(attempt.firstByte))") }
        return words.joined(separator: "  ")
    }

    private func fields(_ title: String, _ fields: [RecordedField]?) {
        guard let fields, !fields.isEmpty else { return }
        output.line("")
        output.line(output.painted(title, .bold))
        for field in fields { output.line("  \(PrintableText.text(field.name)): \(PrintableText.text(field.value))") }
    }

    private func body(_ title: String, _ body: [UInt8]?, isCut: Bool) {
        guard let body else { return }
        output.line("")
        output.line(output.painted(title, .bold) + (isCut ? " (only its beginning is kept)" : ""))
        for part in PrintableText.text(String(decoding: body, as: UTF8.self), keepsLines: true).split(
            separator: "\n", omittingEmptySubsequences: false)
        { output.line("  \(part)") }
    }
}
