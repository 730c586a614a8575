// A moment as text (RFC 3339), without Foundation.
// Domain: pure

package enum RFC3339 {
    /// `2026-11-30T07:00:00.123456Z`
    package static func text(unixMicroseconds: Int64) -> [UInt8] {
        let micros = UInt64(max(0, unixMicroseconds))
        let seconds = micros / 1_000_000
        let day = Int64(seconds / 86_400)
        let (year, month, dayOfMonth) = civil(day)
        let second = seconds % 86_400
        var text: [UInt8] = []
        text.reserveCapacity(27)
        func append(_ value: UInt64, _ digits: Int) {
            var divisor: UInt64 = 1
            for _ in 1..<digits { divisor *= 10 }
            while divisor > 0 {
                text.append(UInt8(0x30 + value / divisor % 10))
                divisor /= 10
            }
        }
        append(UInt64(year), 4)
        text.append(0x2D)
        append(UInt64(month), 2)
        text.append(0x2D)
        append(UInt64(dayOfMonth), 2)
        text.append(0x54)
        append(second / 3600, 2)
        text.append(0x3A)
        append(second / 60 % 60, 2)
        text.append(0x3A)
        append(second % 60, 2)
        text.append(0x2E)
        append(micros % 1_000_000, 6)
        text.append(0x5A)
        return text
    }

    /// Days since 1970-01-01 to a proleptic Gregorian date.
    private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
