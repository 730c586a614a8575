// Finds the lines of audit files that match a filter.
// Domain: cold

import CryoIO
import CryoJSON
import CryoRecord
import Glibc

struct AuditSearch {
    let matcher: RecordMatcher

    init(_ filter: RecordFilter) { matcher = RecordMatcher(filter) }

    /// Hands every matching line of the files to `take`, in their order, until it says false. False when a file could not be read to
    /// its end, which was told.
    func run(_ files: [String], _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        var isWhole = true
        var goesOn = true
        for file in files where goesOn {
            isWhole =
                Self.everyBlock(file) { block in
                    goesOn = lines(of: block, take)
                    return goesOn
                } && isWhole
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

    /// The blocks of one file; false when it could not be read to its end, which was told.
    static func everyBlock(_ file: String, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        do throws(SystemError) {
            let blocks = try AuditBlocks(path: file)
            while let block = blocks.next() { if !take(block) { return true } }
            if let failure = blocks.failure {
                print(error: "\(file): \(failure)")
                return false
            }
            return true
        } catch {
            print(error: "\(error)")
            return false
        }
    }

    /// Every line of a block, also those that are no records, with what stands before it counted in lines.
    static func everyLine(_ block: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer, Int) -> Bool) -> Bool {
        var start = 0
        var number = 0
        while start < block.count {
            let end = lineEnd(block, from: start) ?? block.count
            if !take(UnsafeRawBufferPointer(rebasing: block[start..<end]), number) { return false }
            start = end + 1
            number += 1
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
