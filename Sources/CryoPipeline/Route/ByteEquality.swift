// Compares bytes of a request with bytes of ours, a word at a time.
// Domain: pure

func equals(_ bytes: UnsafeRawBufferPointer, _ wanted: [UInt8]) -> Bool {
    guard bytes.count == wanted.count else { return false }
    return wanted.withUnsafeBytes { wanted in
        var index = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if word != wanted.loadUnaligned(fromByteOffset: index, as: UInt64.self) { return false }
            index += 8
        }
        while index < bytes.count {
            if bytes[index] != wanted[index] { return false }
            index += 1
        }
        return true
    }
}
