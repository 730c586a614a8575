// IMF-fixdate, the one date format that is written (RFC 9110 §5.6.7), by arithmetic alone: no locale, no time zone, no clock.
// Domain: pure

package enum HTTPDate {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    package static let bytesCount = 29
    private static let secondsPerDay: Int64 = 86400
    /// 9999-12-31T23:59:59Z, the last second that four year digits can hold.
    private static let secondsMax: Int64 = 253_402_300_799
    private static let dayNames: StaticString = "SunMonTueWedThuFriSat"
    private static let monthNames: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

    /// Appends 29 bytes. Seconds outside 1970…9999 are clamped.
    package static func append(unixSeconds: Int64, to buffer: inout [UInt8]) {
        let seconds = max(0, min(unixSeconds, secondsMax))
        let days = seconds / secondsPerDay
        let (year, month, day) = civil(days)
        let time = seconds % secondsPerDay
        // 1970-01-01 was a Thursday.
        let weekday = Int((days + 4) % 7)
        buffer.append(contentsOf: dayNames.rawBytes[weekday * 3..<weekday * 3 + 3])
        buffer.append(0x2C)
        buffer.append(0x20)
        appendTwo(day, to: &buffer)
        buffer.append(0x20)
        let name = Int(month - 1) * 3
        buffer.append(contentsOf: monthNames.rawBytes[name..<name + 3])
        buffer.append(0x20)
        appendTwo(year / 100, to: &buffer)
        appendTwo(year % 100, to: &buffer)
        buffer.append(0x20)
        appendTwo(time / 3600, to: &buffer)
        buffer.append(0x3A)
        appendTwo(time / 60 % 60, to: &buffer)
        buffer.append(0x3A)
        appendTwo(time % 60, to: &buffer)
        let zone: StaticString = " GMT"
        buffer.append(contentsOf: zone.rawBytes)
    }

    /// Parses an IMF-fixdate; nil when it is anything else, or no such day exists. The day's name must be a name, not the right one;
    /// a leap second counts as the second before. The two obsolete formats are not read.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard text.count == bytesCount, nameIndex(text, 0, dayNames) != nil, matches(text, 3, ", "), let day = digits(text, 5, 2),
            text[7] == 0x20, let monthIndex = nameIndex(text, 8, monthNames), text[11] == 0x20, let year = digits(text, 12, 4),
            text[16] == 0x20, let hour = digits(text, 17, 2), text[19] == 0x3A, let minute = digits(text, 20, 2), text[22] == 0x3A,
            let second = digits(text, 23, 2), matches(text, 25, " GMT")
        else { return nil }
        let month = Int64(monthIndex + 1)
        guard hour < 24, minute < 60, second <= 60, year >= 1 else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        guard day >= 1, civil(days) == (year, month, day) else { return nil }
        return days * secondsPerDay + hour * 3600 + minute * 60 + min(second, 59)
    }

    private static func appendTwo(_ value: Int64, to buffer: inout [UInt8]) {
        buffer.append(0x30 + UInt8(truncatingIfNeeded: value / 10))
        buffer.append(0x30 + UInt8(truncatingIfNeeded: value % 10))
    }

    private static func matches(_ text: UnsafeRawBufferPointer, _ at: Int, _ expected: StaticString) -> Bool {
        text[at..<at + expected.utf8CodeUnitCount].elementsEqual(expected.rawBytes)
    }

    private static func nameIndex(_ text: UnsafeRawBufferPointer, _ at: Int, _ names: StaticString) -> Int? {
        var index = 0
        while index * 3 < names.utf8CodeUnitCount {
            if text[at..<at + 3].elementsEqual(names.rawBytes[index * 3..<index * 3 + 3]) { return index }
            index += 1
        }
        return nil
    }

    private static func digits(_ text: UnsafeRawBufferPointer, _ at: Int, _ count: Int) -> Int64? {
        parseDecimal(UnsafeRawBufferPointer(rebasing: text[at..<at + count])).map { Int64($0) }
    }

    /// Days since 1970-01-01 of a date in the proleptic Gregorian calendar. Years begin in March here, so that the leap day is the last.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The inverse of `daysSinceEpoch`.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
