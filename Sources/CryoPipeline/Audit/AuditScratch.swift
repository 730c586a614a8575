// What a worker keeps from one audit record to the next: memory, the second's text, the last login's and the last outcomes' text.
// Domain: worker

import CryoJSON

package final class AuditScratch {
    private var writer = JSONWriter()
    private var second: Int64 = -1
    /// `2026-11-30T07:00:00.`
    private var secondText: [UInt8] = []
    private var revision: SessionRevision?
    /// `,"session":"…"`
    private var revisionText: [UInt8] = []
    private var outcomes = StepOutcomes()
    /// `,"steps":{…}`
    private var outcomesText: [UInt8] = []
    /// Memory that is kept; a longer record gives its own back.
    private static let keptBytesMax = 65_536
    private static let prefixCount = 20

    package init() {}

    /// An empty writer with the memory of the last record.
    func takeWriter() -> JSONWriter {
        var taken = JSONWriter()
        swap(&taken, &writer)
        taken.reset()
        return taken
    }

    func keep(_ writer: consuming JSONWriter) { if writer.capacity <= Self.keptBytesMax { self.writer = writer } }

    /// `2026-11-30T07:00:00.123456Z`, of which one record after another needs new digits only.
    func append(time unixMicroseconds: Int64, to writer: inout JSONWriter) {
        let microseconds = max(0, unixMicroseconds)
        if microseconds / 1_000_000 != second {
            second = microseconds / 1_000_000
            secondText = Array(RFC3339.text(unixMicroseconds: microseconds).prefix(Self.prefixCount))
        }
        writer.text(secondText)
        writer.digits(UInt64(microseconds % 1_000_000), count: 6)
        writer.text("Z")
    }

    /// A login lasts for many exchanges.
    func append(_ revision: SessionRevision, to writer: inout JSONWriter) {
        if revision != self.revision {
            self.revision = revision
            var text = JSONWriter()
            revision.text.withUnsafeBytes { text.member(#","session":""#, plain: $0) }
            revisionText = text.bytes
        }
        writer.text(revisionText)
    }

    /// Most exchanges end as the one before did.
    func append(_ outcomes: StepOutcomes, to writer: inout JSONWriter) {
        if outcomesText.isEmpty || !Self.areSame(outcomes, self.outcomes) {
            self.outcomes = outcomes
            outcomesText = Self.text(of: outcomes)
        }
        writer.text(outcomesText)
    }

    /// Byte by byte: cases that stand for texts are compared as texts, which costs more.
    private static func areSame(_ one: StepOutcomes, _ other: StepOutcomes) -> Bool {
        withUnsafeBytes(of: one) { one in
            withUnsafeBytes(of: other) { other in
                for index in 0..<MemoryLayout<StepOutcomes>.size where one[index] != other[index] { return false }
                return true
            }
        }
    }

    private static func text(of outcomes: StepOutcomes) -> [UInt8] {
        var writer = JSONWriter()
        writer.text("")
        writer.key("steps")
        writer.beginObject()
        // A step the exchange never came to is left out.
        func append(_ step: StaticString, _ outcome: String?) { if let outcome { writer.field(step, outcome) } }
        append("accept", outcomes.accept?.rawValue)
        append("read", outcomes.read?.rawValue)
        append("route", outcomes.route?.rawValue)
        append("inject", outcomes.inject?.rawValue)
        append("forward", outcomes.forward?.rawValue)
        append("refresh", outcomes.refresh?.rawValue)
        append("retry", outcomes.retry?.rawValue)
        append("normalize", outcomes.normalize?.rawValue)
        append("reply", outcomes.reply?.rawValue)
        writer.field("audit", "written")
        writer.endObject()
        return writer.bytes
    }
}
