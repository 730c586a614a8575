// Prints rows in columns for people.
// Domain: cold

enum Table {
    /// A control character in a name must not reach the terminal.
    static func print(_ head: [String], _ rows: [[String]]) {
        let clean = ([head] + rows).map { row in row.map(printable) }
        let widths = head.indices.map { column in clean.map { $0[column].count }.max() ?? 0 }
        for row in clean {
            var line = ""
            for (column, cell) in row.enumerated() {
                line += column + 1 == row.count ? cell : cell + String(repeating: " ", count: widths[column] - cell.count + 2)
            }
            Swift.print(line)
        }
    }

    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? " " : $0 }))
    }
}
