/** Where a text lies in the files below a directory. */
import { join } from "@std/path";

/** The files below a directory that have a text in them, as bytes or in their names. */
export function filesWith(dir: string, text: string): string[] {
  const found: string[] = [];
  for (const { name, isDirectory, isFile } of Deno.readDirSync(dir)) {
    const path = join(dir, name);
    if (name.includes(text)) found.push(path);
    if (isDirectory) found.push(...filesWith(path, text));
    if (isFile && contentOf(path).includes(text)) found.push(path);
  }
  return found;
}

function contentOf(path: string): string {
  try {
    return new TextDecoder("latin1").decode(Deno.readFileSync(path));
  } catch (error) {
    // Gone meanwhile.
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
