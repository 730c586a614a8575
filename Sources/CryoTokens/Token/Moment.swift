// Moments as token sources write them: RFC 3339 text, seconds or milliseconds since 1970.
// Domain: pure

import Glibc

enum Moment {
    /// Seconds of the year 5138: a larger number counts milliseconds.
    private static let millisecondsFrom: Int64 = 100_000_000_000

    static func seconds(of number: Int64) -> Int64 { number >= millisecondsFrom ? number / 1000 : number }

    /// `2026-11-30T10:00:00Z`, with a fraction (cut off), an offset, or a space in the place of the T; text without an offset is UTC.
    static func seconds(of text: [UInt8]) -> Int64? {
        var rest = text[...]
        guard let year = number(&rest, 4), skip(&rest, 0x2D), let month = number(&rest, 2), skip(&rest, 0x2D),
            let day = number(&rest, 2), skip(&rest, 0x54) || skip(&rest, 0x74) || skip(&rest, 0x20),
            let hour = number(&rest, 2), skip(&rest, 0x3A), let minute = number(&rest, 2), skip(&rest, 0x3A),
            let second = number(&rest, 2), year >= 1970, (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        if skip(&rest, 0x2E) {
            guard let digit = rest.first, (0x30...0x39).contains(digit) else { return nil }
            rest = rest.drop { (0x30...0x39).contains($0) }
        }
        guard let offset = offset(&rest), rest.isEmpty else { return nil }
        var time = tm()
        time.tm_year = Int32(year - 1900)
        time.tm_mon = Int32(month - 1)
        time.tm_mday = Int32(day)
        time.tm_hour = Int32(hour)
        time.tm_min = Int32(minute)
        time.tm_sec = Int32(second)
        return Int64(timegm(&time)) - Int64(offset)
    }

    /// Seconds east of UTC.
    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        if rest.isEmpty || skip(&rest, 0x5A) || skip(&rest, 0x7A) { return 0 }
        let isEast = skip(&rest, 0x2B)
        guard isEast || skip(&rest, 0x2D), let hours = number(&rest, 2), skip(&rest, 0x3A), let minutes = number(&rest, 2) else {
            return nil
        }
        return (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
    }

    private static func skip(_ rest: inout ArraySlice<UInt8>, _ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, _ digits: Int) -> Int? {
        guard rest.count >= digits, rest.prefix(digits).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let value = rest.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        rest = rest.dropFirst(digits)
        return value
    }
}
