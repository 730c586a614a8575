// Finds the lines of audit files that match a filter.
// Domain: cold

import CryoIO
import CryoRecord
import Glibc

struct AuditSearch {
    let matcher: RecordMatcher

    init(_ filter: RecordFilter) { matcher = RecordMatcher(filter) }

    /// Hands every matching line of the files to `take`, in their order, until it says false. False when a file could not be read to
    /// its end, which was told.
    func run(_ files: [String], _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        var isWhole = true
        for file in files {
            do throws(SystemError) {
                let blocks = try AuditBlocks(path: file)
                while let block = blocks.next() { if !lines(of: block, take) { return isWhole } }
                if let failure = blocks.failure {
                    print(error: "\(file): \(failure)")
                    isWhole = false
                }
            } catch {
                print(error: "\(error)")
                isWhole = false
            }
        }
        return isWhole
    }

    /// `block` has whole lines, padded.
    func lines(of block: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        var start = 0
        while start < block.count {
            // Straight to the next line that can match, where there is a text all of them hold.
            if let needle = matcher.required {
                guard let found = needle.first(in: block, from: start) else { return true }
                while found > start, let feed = Self.lineEnd(block, from: start), feed < found { start = feed + 1 }
            }
            let end = Self.lineEnd(block, from: start) ?? block.count
            let line = UnsafeRawBufferPointer(rebasing: block[start..<end])
            if !line.isEmpty, matcher.matches(padded: line), !take(line) { return false }
            start = end + 1
        }
        return true
    }

    static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, start < bytes.count, let found = memchr(base + start, 0x0A, bytes.count - start) else {
            return nil
        }
        return UnsafeRawPointer(found) - base
    }
}
