// A policy in the form the data path uses: predicate and paths compiled, built once.
// Domain: shared (immutable)

import CryoJSON

package final class PolicyPlan: Sendable {
    package let settings: PolicySettings
    let paths: JSONPathSet
    /// nil: every JSON body is a success.
    let success: SuccessProgram?
    let codeIndex: Int?
    let dataIndex: Int?
    let messageIndices: Range<Int>
    /// nil: the bodies of non-2xx answers are not looked at.
    let errorPaths: JSONPathSet?
    let codes: CodeTable
    let sessionExpired: Set<[UInt8]>

    /// nil when the paths exceed what one scan can look for (`JSONPathSet.pathsMax`).
    package init?(_ settings: PolicySettings) {
        self.settings = settings
        var paths = settings.messagePaths
        messageIndices = paths.indices
        // One scan looks for every path once, whoever wants it.
        func index(of path: JSONPath) -> Int {
            if let index = paths.firstIndex(of: path) { return index }
            paths.append(path)
            return paths.count - 1
        }
        success = settings.success.map { SuccessProgram($0, index: index) }
        codeIndex = settings.codePath.map(index)
        dataIndex = settings.dataPath.map(index)
        errorPaths = settings.errorMessagePaths.isEmpty ? nil : JSONPathSet(settings.errorMessagePaths)
        guard let set = JSONPathSet(paths), settings.errorMessagePaths.isEmpty || errorPaths != nil else { return nil }
        self.paths = set
        codes = CodeTable(settings.codes)
        sessionExpired = Set(settings.sessionExpiredCodes.map { Array($0.utf8) })
    }
}
