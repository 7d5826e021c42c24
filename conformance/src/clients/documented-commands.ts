/**
 * The commands of a page's blocks of `sh` that begin with a word, in their order. A command goes on as long as a quotation is open or a
 * line ends with a backslash.
 */
export function documentedCommands(markdown: string, word: string): readonly string[] {
  const commands: string[] = [];
  for (const [, block = ""] of markdown.matchAll(/```sh\n(.*?)```/gs)) {
    let open: string | undefined;
    for (const line of block.split("\n")) {
      const command: string = open === undefined ? line : `${open}\n${line}`;
      const isOpen = (command.match(/'/g) ?? []).length % 2 === 1 || command.endsWith("\\");
      open = isOpen ? command : undefined;
      if (!isOpen && command.startsWith(`${word} `)) commands.push(command);
    }
  }
  return commands;
}
