// Owns "did you mean": the nearest known word by edit distance.
// Domain: pure

/// The candidate nearest to the word, if it is near enough to be a slip: a third of the word's length, at least one edit.
func suggestion(for word: String, among candidates: [String]) -> String? {
    let lowered = word.lowercased()
    if let same = candidates.first(where: { $0.lowercased() == lowered && $0 != word }) { return same }
    // A word this long is no slip of the keyboard, and the distance costs the product of the lengths.
    guard word.utf8.count <= 64 else { return nil }
    let distanceMax = max(1, word.unicodeScalars.count / 3)
    var best: (distance: Int, word: String)?
    for candidate in candidates where candidate != word {
        let distance = editDistance(Array(lowered.unicodeScalars), Array(candidate.lowercased().unicodeScalars))
        if distance <= distanceMax, distance < best?.distance ?? .max { best = (distance, candidate) }
    }
    return best?.word
}

/// Insertions, removals, replacements and swaps of neighbours (optimal string alignment).
func editDistance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
    guard !one.isEmpty, !other.isEmpty else { return max(one.count, other.count) }
    var beforePrevious: [Int] = []
    var previous = Array(0...other.count)
    for row in 1...one.count {
        var current = [row]
        for column in 1...other.count {
            let cost = one[row - 1] == other[column - 1] ? 0 : 1
            var distance = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + cost)
            if row > 1, column > 1, one[row - 1] == other[column - 2], one[row - 2] == other[column - 1] {
                distance = min(distance, beforePrevious[column - 2] + 1)
            }
            current.append(distance)
        }
        (beforePrevious, previous) = (previous, current)
    }
    return previous[other.count]
}
