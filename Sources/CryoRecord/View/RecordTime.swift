// Owns times as records and filters write them: RFC 3339, also in part, and spans before now.
// Domain: pure

/// Microseconds since 1970. `2026-11-30` names a day, `…T10:00` a minute: a period, not a point.
package struct RecordPeriod: Sendable, Equatable {
    package let start: Int64
    /// The first microsecond after it.
    package let end: Int64
}

package enum RecordTime {
    /// `2026`-`11`-`30`, then as much of `T10:00:00.123456` as is known, then `Z` or `+08:00`; UTC where no zone is named.
    package static func period(_ text: some Collection<UInt8>) -> RecordPeriod? {
        var reader = TimeReader(Array(text))
        return reader.period()
    }

    package static func microseconds(_ text: some Collection<UInt8>) -> Int64? { period(text)?.start }

    /// `15m`, `2h30m`, `1.5s`, `90` (of `unit`): microseconds. Units: us, ms, s, m, h, d, w.
    package static func span(_ text: some Collection<UInt8>, unit: Int64?) -> Int64? {
        var rest = Array(text)[...]
        var total: Int64 = 0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { ($0 | 0x20) &- 0x61 < 26 }
            rest = rest.dropFirst(name.count)
            guard let scale = name.isEmpty ? unit : units[String(decoding: name, as: UTF8.self)], let part = decimal(digits, times: scale)
            else { return nil }
            let (sum, wrapped) = total.addingReportingOverflow(part)
            if wrapped { return nil }
            total = sum
        }
        return total
    }

    /// `1.5` × `scale`, cut to whole units; nil when it is no decimal or does not fit.
    static func decimal(_ text: some Collection<UInt8>, times scale: Int64) -> Int64? {
        var value: Int64 = 0
        var fraction: Int64 = 0
        var place = scale
        var hasPoint = false
        var count = 0
        for byte in text {
            if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
                continue
            }
            guard byte &- 0x30 < 10 else { return nil }
            count += 1
            let digit = Int64(byte - 0x30)
            if hasPoint {
                // Further digits are below one microsecond.
                place /= 10
                fraction += digit * place
            } else {
                let (tens, wrapped) = value.multipliedReportingOverflow(by: 10)
                let (sum, carried) = tens.addingReportingOverflow(digit)
                if wrapped || carried { return nil }
                value = sum
            }
        }
        guard count > 0 else { return nil }
        let (whole, wrapped) = value.multipliedReportingOverflow(by: scale)
        let (sum, carried) = whole.addingReportingOverflow(fraction)
        return wrapped || carried ? nil : sum
    }

    private static let units: [String: Int64] = [
        "us": 1, "ms": 1000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000, "w": 604_800_000_000,
    ]

    /// Days since 1970-01-01 of a date in the proleptic Gregorian calendar.
    static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

private struct TimeReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func period() -> RecordPeriod? {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else { return nil }
        guard (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year) else { return nil }
        var start = RecordTime.day(year: year, month: month, day: day) * 86_400_000_000
        var length: Int64 = 86_400_000_000
        if take("T") || take("t") || take(" ") {
            guard let hour = number(2), hour < 24 else { return nil }
            start += hour * 3_600_000_000
            length = 3_600_000_000
            if take(":") {
                guard let minute = number(2), minute < 60 else { return nil }
                start += minute * 60_000_000
                length = 60_000_000
                if take(":") {
                    // A leap second is told as the last of its minute.
                    guard let second = number(2), second <= 60 else { return nil }
                    start += min(second, 59) * 1_000_000
                    length = 1_000_000
                    if take(".") {
                        guard let fraction = fraction() else { return nil }
                        start += fraction.value
                        length = fraction.length
                    }
                }
            }
        }
        guard let offset = zone(), at == bytes.count else { return nil }
        return RecordPeriod(start: start - offset, end: start - offset + length)
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    private mutating func zone() -> Int64? {
        if at == bytes.count || take("Z") || take("z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hours = number(2), hours < 24 else { return nil }
        _ = take(":")
        guard let minutes = number(2), minutes < 60 else { return nil }
        return sign * (hours * 60 + minutes) * 60_000_000
    }

    private mutating func fraction() -> (value: Int64, length: Int64)? {
        var value: Int64 = 0
        var length: Int64 = 1_000_000
        let start = at
        while at < bytes.count, bytes[at] &- 0x30 < 10 {
            if length > 1 {
                length /= 10
                value += Int64(bytes[at] - 0x30) * length
            }
            at += 1
        }
        return at > start ? (value, length) : nil
    }

    private mutating func number(_ digits: Int) -> Int64? {
        guard at + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[at..<at + digits] {
            guard byte &- 0x30 < 10 else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        at += digits
        return value
    }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard at < bytes.count, UInt32(bytes[at]) == sign.value else { return false }
        at += 1
        return true
    }
}
