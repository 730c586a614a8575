// What the configuration says about a command that prints a token.
// Domain: pure

package struct ExecSettings: Sendable {
    /// Program and arguments; no shell reads them.
    package var command: [String]
    /// Variables beside PATH and HOME; values may hold secret references.
    package var environment: [(name: String, value: String)] = []

    package init(command: [String]) { self.command = command }

    package var references: [SecretReference] { environment.flatMap { TemplateText($0.value).references } }
}
