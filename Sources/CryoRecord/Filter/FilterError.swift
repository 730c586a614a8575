// What is wrong with a filter, where, and what was probably meant.
// Domain: pure

package struct FilterError: Error, Equatable, CustomStringConvertible {
    /// Of the filter's characters, from 1.
    package let column: Int
    package let message: String

    package var description: String { "column \(column): \(message)" }
}

/// The nearest known word by edit distance, if it is near enough to be a slip: a third of the word's length, at least one edit.
func nearest(to word: String, among candidates: [String]) -> String? {
    let wanted = Array(word.lowercased().utf8)
    // A word this long is no slip of the keyboard.
    guard wanted.count <= 64 else { return nil }
    var best: (distance: Int, word: String)?
    for candidate in candidates {
        let distance = editDistance(wanted, Array(candidate.utf8))
        if distance <= max(1, wanted.count / 3), distance < best?.distance ?? .max { best = (distance, candidate) }
    }
    return best?.word
}

/// Insertions, removals, replacements, and swaps of neighbours.
private func editDistance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...other.count)
    for (index, byte) in one.enumerated() {
        var current = [index + 1]
        for column in other.indices {
            var distance = min(previous[column + 1] + 1, current[column] + 1, previous[column] + (other[column] == byte ? 0 : 1))
            if index > 0, column > 0, one[index - 1] == other[column], other[column - 1] == byte {
                distance = min(distance, beforePrevious[column - 1] + 1)
            }
            current.append(distance)
        }
        (beforePrevious, previous) = (previous, current)
    }
    return previous[other.count]
}
