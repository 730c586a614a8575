// What a drill found, as a table and as JSON.
// Domain: cold

import CryoJSON

package struct DrillCheck: Sendable, Equatable {
    /// What must be true, as a sentence.
    package var sentence: String
    /// What was seen.
    package var seen: String
    package var isPassed: Bool
}

package struct DrillReport: Sendable {
    package let drill: Drill
    package var checks: [DrillCheck] = []
    package var milliseconds: UInt64 = 0

    package var isPassed: Bool { !checks.isEmpty && checks.allSatisfy(\.isPassed) }

    init(_ drill: Drill) { self.drill = drill }

    mutating func check(_ sentence: String, _ isPassed: Bool, seen: String) {
        checks.append(DrillCheck(sentence: sentence, seen: seen, isPassed: isPassed))
    }

    package static func table(of reports: [DrillReport]) -> String {
        let width = reports.flatMap(\.checks).map(\.sentence.count).max() ?? 0
        var text = ""
        for report in reports {
            text += "\(report.drill.rawValue): \(report.drill.meaning) (\(report.milliseconds) ms)\n"
            for check in report.checks {
                let gap = String(repeating: " ", count: width - check.sentence.count)
                text += "  \(check.isPassed ? "pass" : "FAIL")  \(check.sentence)\(gap)  \(check.seen)\n"
            }
        }
        let checks = reports.flatMap(\.checks)
        let failed = checks.count { !$0.isPassed }
        return text + (failed == 0 ? "\(checks.count) checks passed\n" : "\(failed) of \(checks.count) checks failed\n")
    }

    package static func json(of reports: [DrillReport]) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("passed", reports.allSatisfy(\.isPassed))
        writer.key("drills")
        writer.beginArray()
        for report in reports {
            writer.beginObject()
            writer.field("name", report.drill.rawValue)
            writer.field("passed", report.isPassed)
            writer.field("milliseconds", Int64(clamping: report.milliseconds))
            writer.key("checks")
            writer.beginArray()
            for check in report.checks {
                writer.beginObject()
                writer.field("check", check.sentence)
                writer.field("passed", check.isPassed)
                writer.field("seen", check.seen)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
