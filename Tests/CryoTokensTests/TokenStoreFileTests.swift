import CryoIO
import CryoPipeline
import CryoTokens
import Glibc
import Testing

@Suite struct TokenStoreFileTests {
    private let directory = TemporaryDirectory()
    private var store: TokenStoreFile { TokenStoreFile(path: directory.file("app.json")) }

    @Test("a written pair is read back, 0600, with nothing else beside it") func roundTrip() throws {
        let pair = NewCredential(token: Secret("a\"1\\é"), refreshToken: Secret("r1"), expiresAt: 1_800_000_000)
        let mask = umask(0)
        defer { umask(mask) }
        try store.write(pair)
        #expect(directory.mode("app.json") == 0o600)
        #expect(directory.names == ["app.json"])
        guard case .pair(let read, let mode) = store.read() else {
            Issue.record("no pair")
            return
        }
        #expect(mode == 0o600)
        #expect(read.token.text == "a\"1\\é" && read.refreshToken?.text == "r1" && read.expiresAt == 1_800_000_000)
    }

    @Test("a pair replaces a pair whose permissions were wide, and takes over a leftover of a killed process") func replaces() throws {
        directory.write("app.json", #"{"version":1,"token":"old","refresh_token":null,"expires_at":null}"#, mode: 0o644)
        directory.write("app.json.\(getpid()).new", "half")
        try store.write(NewCredential(token: Secret("new")))
        #expect(directory.mode("app.json") == 0o600)
        #expect(directory.names == ["app.json"])
        #expect(directory.read("app.json") == #"{"version":1,"token":"new","refresh_token":null,"expires_at":null}"# + "\n")
    }

    @Test(
        "what can't be understood is kept as .corrupt, byte for byte",
        arguments: [
            "", "{", #"{"version":1,"token":"a""#, #"{"version":2,"token":"a"}"#, #"{"token":"a"}"#, #"{"version":1,"token":""}"#,
            #"{"version":1,"token":7}"#, #"{"version":1,"token":"a","refresh_token":7}"#, #"{"version":1,"token":"a","expires_at":"soon"}"#,
            #"{"version":1,"token":"a\nb"}"#, "[]", "null",
        ])
    func corrupt(content: String) {
        let path = directory.write("app.json", content)
        guard case .corrupt(_, let keptAs) = store.read() else {
            Issue.record("taken: \(content)")
            return
        }
        #expect(keptAs == path + ".corrupt")
        #expect(directory.names == ["app.json.corrupt"])
        #expect(directory.read("app.json.corrupt") == content)
    }

    @Test("a second corrupt file does not replace the first") func keepsBoth() {
        directory.write("app.json", "one")
        _ = store.read()
        directory.write("app.json", "two")
        _ = store.read()
        #expect(directory.names == ["app.json.corrupt", "app.json.corrupt.1"])
        #expect(directory.read("app.json.corrupt") == "one")
    }

    @Test("a directory in its place is neither read nor moved") func notRegular() {
        guard case .failed = TokenStoreFile(path: directory.path).read() else {
            Issue.record("read a directory")
            return
        }
    }

    @Test("a directory that is gone is an error of the write") func cannotWrite() {
        #expect(throws: SystemError.self) {
            try TokenStoreFile(path: directory.file("gone/app.json")).write(NewCredential(token: Secret("a")))
        }
    }

    @Test("killed at any moment of a rotation, the file holds one whole pair") func killed() throws {
        // A reader sees what a restart after a kill would see.
        let store = store
        try store.write(NewCredential(token: Secret("token-0"), refreshToken: Secret("refresh-0")))
        let reader = Reader(store)
        reader.start()
        for number in 1...200 {
            try store.write(NewCredential(token: Secret("token-\(number)"), refreshToken: Secret("refresh-\(number)")))
        }
        let result = reader.stop()
        #expect(result.reads > 0)
        #expect(result.torn == 0)
    }
}
