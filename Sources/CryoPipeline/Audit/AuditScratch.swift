// What a worker keeps from one audit record to the next: memory, the second's text, the last outcomes' text.
// Domain: worker

import CryoJSON

package final class AuditScratch {
    var writer = JSONWriter()
    private var second: Int64 = -1
    /// `2026-11-30T07:00:00.`
    private var prefix: [UInt8] = []
    private var outcomes = StepOutcomes()
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

    func keep(_ writer: consuming JSONWriter) { if writer.bytes.count <= Self.keptBytesMax { self.writer = writer } }

    /// Appends `2026-11-30T07:00:00.123456Z`.
    func appendTime(_ unixMicroseconds: Int64, to text: inout [UInt8]) {
        let microseconds = max(0, unixMicroseconds)
        if microseconds / 1_000_000 != second {
            second = microseconds / 1_000_000
            prefix = Array(RFC3339.text(unixMicroseconds: microseconds).prefix(Self.prefixCount))
        }
        text.append(contentsOf: prefix)
        var divisor: Int64 = 100_000
        while divisor > 0 {
            text.append(UInt8(truncatingIfNeeded: 0x30 + microseconds / divisor % 10))
            divisor /= 10
        }
        text.append(0x5A)
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
