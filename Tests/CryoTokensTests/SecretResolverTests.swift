import CryoPipeline
import CryoTokens
import Glibc
import Testing

@Suite struct SecretResolverTests {
    private let directory = TemporaryDirectory()

    private func problem(_ reference: SecretReference) -> TokenProblem? {
        if case .failure(let problem) = SecretResolver.resolve(reference) { return problem }
        return nil
    }

    @Test("line ends after a secret are not part of it") func stripsLineEnds() throws {
        let path = directory.write("token", "abc def\r\n\n")
        #expect(try SecretResolver.resolve(.file(path: path)).get().text == "abc def")
    }

    @Test("a file of line ends is missing, and so is an empty one", arguments: ["\n", "", "\r\n\r\n"])
    func emptyFiles(content: String) {
        let path = directory.write("token", content)
        #expect(problem(.file(path: path)) == .fileEmpty(path: path))
    }

    @Test("what is no token file is named: nothing, a directory, a pipe, 64 KiB and one byte, control characters, no UTF-8")
    func badFiles() {
        let nothing = directory.file("nothing")
        #expect(problem(.file(path: nothing)) == .fileMissing(path: nothing))
        #expect(problem(.file(path: directory.path)) == .fileNotRegular(path: directory.path))
        let pipe = directory.file("pipe")
        mkfifo(pipe, 0o600)
        #expect(problem(.file(path: pipe)) == .fileNotRegular(path: pipe))
        let atBound = directory.write("large", String(repeating: "x", count: 65_536))
        #expect(problem(.file(path: atBound)) == nil)
        directory.write("large", String(repeating: "x", count: 65_537))
        #expect(problem(.file(path: atBound)) == .fileTooLarge(path: atBound, bytesMax: 65_536))
        let broken = directory.write("broken", "abc\r\nX-Evil: 1")
        #expect(problem(.file(path: broken)) == .fileUnusable(path: broken, cause: "holds a control character"))
    }

    @Test("a variable that is not set or empty is missing") func environment() throws {
        setenv("CRYONET_TEST_EMPTY", "", 1)
        setenv("CRYONET_TEST_SET", "abc\n", 1)
        #expect(problem(.environment(name: "CRYONET_TEST_EMPTY")) == .environmentMissing(name: "CRYONET_TEST_EMPTY"))
        #expect(problem(.environment(name: "CRYONET_TEST_NEVER")) == .environmentMissing(name: "CRYONET_TEST_NEVER"))
        #expect(try SecretResolver.resolve(.environment(name: "CRYONET_TEST_SET")).get().text == "abc")
    }
}
