// The function that libFuzzer's main calls with each input. CRYONET_FUZZ_TARGET names the target; the arguments are libFuzzer's own.
// Domain: cold

import CryoFuzz
import Glibc

private enum Chosen {
    /// Read once; without a target there is nothing to run.
    static let target: FuzzTarget = {
        if let name = getenv("CRYONET_FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) { return target }
        say("CRYONET_FUZZ_TARGET must be one of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
        exit(2)
    }()
}

/// 0 keeps the input; a broken property ends the program, which makes the input a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func runOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let complaint = Chosen.target.complaint(about: UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : count)) {
        say("property broken: \(complaint)")
        abort()
    }
    return 0
}

/// `stderr` is a variable, which Swift does not take from concurrent code.
private func say(_ text: String) {
    let bytes = Array("\(text)\n".utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}
