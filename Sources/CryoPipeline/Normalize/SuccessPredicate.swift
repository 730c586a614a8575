// What makes a body a success: tests of members, and how they are joined (ledger §J, X8).
// Domain: pure

package import CryoJSON

/// One question about one member.
package struct SuccessTest: Sendable, Equatable {
    package enum Missing: String, Sendable, CaseIterable { case success, failure }
    package enum Condition: Sendable, Equatable {
        case equals(JSONScalar)
        case oneOf([JSONScalar])
        case range(JSONNumberRange)
        /// The member is there, null included, or is not.
        case exists(Bool)
        /// As in JavaScript: null, false, 0 and "" are not.
        case truthy(Bool)
        case matches(TextPattern)
    }

    package var path: JSONPath
    package var condition: Condition
    /// What an answer without the member is, also inside `not`. `exists` and `truthy` answer that themselves.
    package var missing: Missing
    /// On: a string is never a number or bool, nor the other way round.
    package var isStrict: Bool

    package init(path: JSONPath, condition: Condition, missing: Missing = .success, isStrict: Bool = false) {
        self.path = path
        self.condition = condition
        self.missing = missing
        self.isStrict = isStrict
    }
}

package indirect enum SuccessPredicate: Sendable, Equatable {
    /// More than this many tests are refused with the configuration.
    package static let testsMax = 64

    case test(SuccessTest)
    case all([SuccessPredicate])
    case any([SuccessPredicate])
    case not(SuccessPredicate)

    package static func equals(
        _ path: JSONPath, _ value: JSONScalar, missing: SuccessTest.Missing = .success, isStrict: Bool = false
    ) -> SuccessPredicate {
        .test(SuccessTest(path: path, condition: .equals(value), missing: missing, isStrict: isStrict))
    }

    /// What it looks at, in the order of the tests; a path may be there twice.
    package var paths: [JSONPath] {
        switch self {
        case .test(let test): [test.path]
        case .all(let parts), .any(let parts): parts.flatMap(\.paths)
        case .not(let part): part.paths
        }
    }

    package var testCount: Int {
        switch self {
        case .test: 1
        case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.testCount }
        case .not(let part): part.testCount
        }
    }
}

/// A predicate as a row of tests with jumps: each test names the next one for either answer, so that judging neither recurses nor
/// allocates. Jumps lead to lower positions only, so it ends after at most one look at each test.
package struct SuccessProgram: Sendable {
    /// An object, so that to look at one is not to copy its values.
    private final class Instruction: Sendable {
        let condition: SuccessTest.Condition
        /// Position of the member's path in the scan.
        let pathIndex: Int
        let isStrict: Bool
        /// The test's answer where the member is missing; nil: the condition's own.
        let answerForMissing: Bool?
        let ifTrue: Int
        let ifFalse: Int

        init(condition: SuccessTest.Condition, pathIndex: Int, isStrict: Bool, answerForMissing: Bool?, ifTrue: Int, ifFalse: Int) {
            self.condition = condition
            self.pathIndex = pathIndex
            self.isStrict = isStrict
            self.answerForMissing = answerForMissing
            self.ifTrue = ifTrue
            self.ifFalse = ifFalse
        }
    }

    private static let success = -1
    private static let failure = -2

    private var instructions: [Instruction] = []
    private var entry = Self.success

    /// `index` gives a path its position in the scan.
    package init(_ predicate: SuccessPredicate, index: (JSONPath) -> Int) {
        entry = compile(predicate, ifTrue: Self.success, ifFalse: Self.failure, isNegated: false, index)
    }

    private mutating func compile(
        _ predicate: SuccessPredicate, ifTrue: Int, ifFalse: Int, isNegated: Bool, _ index: (JSONPath) -> Int
    ) -> Int {
        switch predicate {
        case .test(let test):
            var answer: Bool? = (test.missing == .success) != isNegated
            switch test.condition {
            case .exists, .truthy: answer = nil
            case .equals, .oneOf, .range, .matches: break
            }
            instructions.append(
                Instruction(
                    condition: test.condition, pathIndex: index(test.path), isStrict: test.isStrict, answerForMissing: answer,
                    ifTrue: ifTrue, ifFalse: ifFalse))
            return instructions.count - 1
        case .all(let parts):
            return parts.reversed().reduce(ifTrue) { compile($1, ifTrue: $0, ifFalse: ifFalse, isNegated: isNegated, index) }
        case .any(let parts):
            return parts.reversed().reduce(ifFalse) { compile($1, ifTrue: ifTrue, ifFalse: $0, isNegated: isNegated, index) }
        case .not(let part):
            return compile(part, ifTrue: ifFalse, ifFalse: ifTrue, isNegated: !isNegated, index)
        }
    }

    /// Whether the body the scanner has just scanned is a success.
    package func holds(_ scanner: JSONScanner, _ reader: JSONValueReader) -> Bool {
        var at = entry
        while at >= 0 {
            let instruction = instructions[at]
            at = answer(instruction, scanner, reader) ? instruction.ifTrue : instruction.ifFalse
        }
        return at == Self.success
    }

    private func answer(_ instruction: Instruction, _ scanner: JSONScanner, _ reader: JSONValueReader) -> Bool {
        let slice = scanner.slice(at: instruction.pathIndex)
        if slice.kind == .missing, let answer = instruction.answerForMissing { return answer }
        switch instruction.condition {
        case .equals(let value): return reader.equals(slice, value, strict: instruction.isStrict)
        case .oneOf(let values): return values.contains { reader.equals(slice, $0, strict: instruction.isStrict) }
        case .range(let range): return reader.isWithin(slice, range, strict: instruction.isStrict)
        case .exists(let isWanted): return (slice.kind != .missing) == isWanted
        case .truthy(let isWanted): return reader.isTruthy(slice) == isWanted
        case .matches(let pattern): return reader.matches(slice, pattern, strict: instruction.isStrict)
        }
    }
}
