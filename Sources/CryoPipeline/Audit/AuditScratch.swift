// What a worker keeps from one audit record to the next: memory, the second's text, the last outcomes' text.
// Domain: worker

import CryoJSON

package final class AuditScratch {
    var writer = JSONWriter()
    private var second: Int64 = -1
    /// `2026-11-30T07:00:00.123456Z`
    private var time: [UInt8] = []
    private var revision: SessionRevision?
    private var revisionText: [UInt8] = []
    private var outcomes = StepOutcomes()
    private var outcomesText: [UInt8] = []
    /// Memory that is kept; a longer record gives its own back.
    private static let keptBytesMax = 65_536
    private static let prefixCount = 20
    private static let fractionDigits = 6

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
    func time(_ unixMicroseconds: Int64) -> [UInt8] {
        let microseconds = max(0, unixMicroseconds)
        if microseconds / 1_000_000 != second {
            second = microseconds / 1_000_000
            time = RFC3339.text(unixMicroseconds: microseconds)
        }
        var rest = microseconds % 1_000_000
        for place in stride(from: Self.prefixCount + Self.fractionDigits - 1, through: Self.prefixCount, by: -1) {
            time[place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
        return time
    }

    /// The text of the revision: a login lasts for many exchanges.
    func text(of revision: SessionRevision) -> [UInt8] {
        if revision != self.revision {
            self.revision = revision
            revisionText = revision.text
        }
        return revisionText
    }

    /// The text of the outcomes: most exchanges end as the one before did.
    func text(of outcomes: StepOutcomes, _ render: (inout JSONWriter) -> Void) -> [UInt8] {
        if outcomesText.isEmpty || !Self.areSame(outcomes, self.outcomes) {
            var writer = JSONWriter()
            render(&writer)
            outcomesText = writer.bytes
            self.outcomes = outcomes
        }
        return outcomesText
    }

    /// Byte by byte: cases that stand for texts are compared as texts, which costs more.
    private static func areSame(_ one: StepOutcomes, _ other: StepOutcomes) -> Bool {
        withUnsafeBytes(of: one) { one in withUnsafeBytes(of: other) { other in one.elementsEqual(other) } }
    }
}
