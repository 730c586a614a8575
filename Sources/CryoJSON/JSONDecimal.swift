// Owns exact decimal text: comparison and truncation without binary floating point.
// Domain: pure

/// A decimal read from text without conversion: `digits` holds digits and at most one point, the value is
/// ± digits × 10^exponent. Two of them are equal when their values are, however many digits they have.
struct JSONDecimal {
    private var isNegative = false
    private var digits: UnsafeRawBufferPointer
    /// Position of the first digit that is not zero, counted in `digits`; `digits.count` when the value is zero.
    private var firstSignificant = 0
    /// How many digits stand before the point, from the first significant one, with the exponent applied.
    private var magnitude = 0
    /// Where reading stopped.
    private(set) var consumed = 0

    var isZero: Bool { firstSignificant == digits.count }

    /// Reads the longest decimal at the start of `text`: `[+-] digits [. digits] [e exponent]`, also `.5` and `5.`.
    /// Nil when there is no digit. Exponents are clamped far outside anything comparable.
    init?(prefixOf text: UnsafeRawBufferPointer) {
        var at = 0
        if at < text.count, text[at] == UInt8(ascii: "-") || text[at] == UInt8(ascii: "+") {
            isNegative = text[at] == UInt8(ascii: "-")
            at += 1
        }
        let start = at
        var point = -1
        var digitCount = 0
        while at < text.count {
            if Self.isDigit(text[at]) {
                digitCount += 1
            } else if text[at] == UInt8(ascii: "."), point < 0 {
                point = at
            } else {
                break
            }
            at += 1
        }
        guard digitCount > 0 else { return nil }
        digits = UnsafeRawBufferPointer(rebasing: text[start..<at])
        let exponent = Self.takeExponent(text, &at)
        consumed = at
        let pointPosition = point < 0 ? digits.count : point - start
        firstSignificant = digits.firstIndex { $0 != UInt8(ascii: "0") && $0 != UInt8(ascii: ".") } ?? digits.count
        let isFraction = firstSignificant > pointPosition
        magnitude = pointPosition - firstSignificant + (isFraction ? 1 : 0) + exponent
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func takeExponent(_ text: UnsafeRawBufferPointer, _ at: inout Int) -> Int {
        var next = at
        guard next < text.count, text[next] | 0x20 == UInt8(ascii: "e") else { return 0 }
        next += 1
        var isNegative = false
        if next < text.count, text[next] == UInt8(ascii: "-") || text[next] == UInt8(ascii: "+") {
            isNegative = text[next] == UInt8(ascii: "-")
            next += 1
        }
        guard next < text.count, isDigit(text[next]) else { return 0 }
        var value = 0
        while next < text.count, isDigit(text[next]) {
            value = min(value * 10 + Int(text[next] - UInt8(ascii: "0")), 1 << 40)
            next += 1
        }
        at = next
        return isNegative ? -value : value
    }

    /// The value with its fraction cut off; nil when that does not fit.
    var truncated: Int64? {
        guard !isZero, magnitude > 0 else { return 0 }
        guard magnitude <= 19 else { return nil }
        var value: Int64 = 0
        var at = firstSignificant
        for _ in 0..<magnitude {
            if at < digits.count, digits[at] == UInt8(ascii: ".") { at += 1 }
            let digit = at < digits.count ? Int64(digits[at] - UInt8(ascii: "0")) : 0
            at += 1
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, carried) = isNegative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
            guard !overflow, !carried else { return nil }
            value = next
        }
        return value
    }

    /// Whether there is no fraction: `1.0` and `15e-1` differ here.
    var isIntegral: Bool {
        guard !isZero else { return true }
        guard magnitude > 0 else { return false }
        var remaining = magnitude
        for at in firstSignificant..<digits.count where digits[at] != UInt8(ascii: ".") {
            if remaining <= 0, digits[at] != UInt8(ascii: "0") { return false }
            remaining -= 1
        }
        return true
    }

    static func areEqual(_ left: JSONDecimal, _ right: JSONDecimal) -> Bool {
        if left.isZero || right.isZero { return left.isZero && right.isZero }
        guard left.isNegative == right.isNegative, left.magnitude == right.magnitude else { return false }
        var leftAt = left.firstSignificant
        var rightAt = right.firstSignificant
        while true {
            let leftDigit = left.take(&leftAt)
            let rightDigit = right.take(&rightAt)
            guard let leftDigit else { return right.restIsZero(rightDigit, rightAt) }
            guard let rightDigit else { return left.restIsZero(leftDigit, leftAt) }
            guard leftDigit == rightDigit else { return false }
        }
    }

    static func isLess(_ left: JSONDecimal, _ right: JSONDecimal) -> Bool {
        if left.isZero { return !right.isZero && !right.isNegative }
        if right.isZero { return left.isNegative }
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? isCloserToZero(right, left) : isCloserToZero(left, right)
    }

    /// Of two that are not zero, without their signs.
    private static func isCloserToZero(_ left: JSONDecimal, _ right: JSONDecimal) -> Bool {
        guard left.magnitude == right.magnitude else { return left.magnitude < right.magnitude }
        var leftAt = left.firstSignificant
        var rightAt = right.firstSignificant
        while true {
            let leftDigit = left.take(&leftAt)
            guard let rightDigit = right.take(&rightAt) else { return false }
            guard let leftDigit else { return !right.restIsZero(rightDigit, rightAt) }
            if leftDigit != rightDigit { return leftDigit < rightDigit }
        }
    }

    private func take(_ at: inout Int) -> UInt8? {
        if at < digits.count, digits[at] == UInt8(ascii: ".") { at += 1 }
        guard at < digits.count else { return nil }
        at += 1
        return digits[at - 1]
    }

    private func restIsZero(_ first: UInt8?, _ start: Int) -> Bool {
        guard let first else { return true }
        return first == UInt8(ascii: "0") && digits[start...].allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") }
    }
}
