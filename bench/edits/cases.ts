/**
 * Edits as models ask for them, with what they get wrong when they copy a text: each with the file
 * that is wanted, or with nothing where no edit can be meant for certain.
 */
import type { Edit } from "../../src/base/edits/edit.ts";

export interface EditCase {
  name: string;
  /** The file: a text, or its bytes. */
  file: string | Uint8Array<ArrayBuffer>;
  edits: Edit[];
  /** The file after the edits; `refuse` where a careful tool changes nothing. */
  want: string | Uint8Array<ArrayBuffer> | "refuse";
}

const encoder = new TextEncoder();

function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function utf16(text: string, little_endian: boolean): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let n = 0; n < text.length; n++) view.setUint16(n * 2, text.charCodeAt(n), little_endian);
  return new Uint8Array(view.buffer);
}

function one(old_text: string, new_text: string, replace_all?: boolean): Edit[] {
  return [{ old_text, new_text, replace_all }];
}

const PYTHON = [
  "class Cart:",
  "    def total(self):",
  "        sum = 0",
  "        for item in self.items:",
  "            sum += item.price",
  "        return sum",
  "",
].join("\n");

const TABS = "func main() {\n\tif ready {\n\t\tstart()\n\t}\n}\n";

const HUGE = Array.from({ length: 250_000 }, (_, n) => `line ${n} of a file that is very long\n`)
  .join("");

export const EDIT_CASES: readonly EditCase[] = [
  // What is plainly there.
  { name: "one word", file: "a b c\n", edits: one("b", "x"), want: "a x c\n" },
  { name: "a line goes", file: "a\nb\nc\n", edits: one("b\n", ""), want: "a\nc\n" },
  {
    name: "characters that mean something in a replacement",
    file: "price = 1\n",
    edits: one("1", "$& $1 $$ $` \\n"),
    want: "price = $& $1 $$ $` \\n\n",
  },
  { name: "all places", file: "a a a\n", edits: one("a", "b", true), want: "b b b\n" },
  {
    name: "the new text holds the old one, all places",
    file: "x = x + 1\n",
    edits: one("x", "xx", true),
    want: "xx = xx + 1\n",
  },
  // What could be meant twice.
  { name: "two places", file: "a\nb\na\n", edits: one("a", "x"), want: "refuse" },
  { name: "places that overlap", file: "aaa\n", edits: one("aa", "b"), want: "refuse" },
  {
    name: "lines that overlap",
    file: "}\n}\n}\n",
    edits: one("}\n}\n", "}\n"),
    want: "refuse",
  },
  {
    name: "two places with other indentation",
    file: "  if a:\n    go()\nelse:\n      if a:\n        go()\n",
    edits: one("if a:\n  go()", "if b:\n  go()"),
    want: "refuse",
  },
  {
    name: "one exact place beside one that is nearly the same",
    file: "go( a )\ngo(a)\n",
    edits: one("go(a)", "go(b)"),
    want: "go( a )\ngo(b)\n",
  },
  // Line ends.
  {
    name: "a file with CRLF, copied with LF",
    file: "one\r\ntwo\r\nthree\r\n",
    edits: one("one\ntwo", "1\n2\n2b"),
    want: "1\r\n2\r\n2b\r\nthree\r\n",
  },
  {
    name: "a new line in a file with CRLF",
    file: "one\r\ntwo\r\n",
    edits: one("two", "two\nthree"),
    want: "one\r\ntwo\r\nthree\r\n",
  },
  {
    name: "a file with LF, copied with CRLF",
    file: "one\ntwo\nthree\n",
    edits: one("one\r\ntwo", "1\r\n2"),
    want: "1\n2\nthree\n",
  },
  {
    name: "mixed line ends stay where they are",
    file: "one\r\ntwo\nthree\r\nfour\n",
    edits: one("two\nthree", "two\nTHREE"),
    want: "one\r\ntwo\nTHREE\r\nfour\n",
  },
  {
    name: "line ends are what is to change",
    file: "one\r\ntwo\r\n",
    edits: one("one\r\n", "one\n"),
    want: "one\ntwo\r\n",
  },
  {
    name: "the last line has no end",
    file: "one\ntwo",
    edits: one("two\n", "2\n"),
    want: "one\n2",
  },
  // Blanks.
  {
    name: "blanks at ends of lines, which the copy has not",
    file: "if a:  \n    go()\t\nend\n",
    edits: one("if a:\n    go()\n", "if b:\n    go()\n"),
    want: "if b:\n    go()\t\nend\n",
  },
  {
    name: "blanks at ends of lines, which only the copy has",
    file: "if a:\n    go()\nend\n",
    edits: one("if a: \n    go()  \n", "if a:\n    stop()\n"),
    want: "if a:\n    stop()\nend\n",
  },
  {
    name: "two blanks that break a line in Markdown are kept",
    file: "first  \nsecond  \nthird\n",
    edits: one("first\nsecond\nthird", "first\nsecond\n3rd"),
    want: "first  \nsecond  \n3rd\n",
  },
  {
    name: "a word and a blank are not the beginning of another word",
    file: "returned = 1\n",
    edits: one("return  ", "give "),
    want: "refuse",
  },
  // Indentation.
  {
    name: "copied without the outer indentation",
    file: PYTHON,
    edits: one(
      "for item in self.items:\n    sum += item.price\nreturn sum",
      "for item in self.items:\n    if item.paid:\n        sum += item.price\nreturn sum",
    ),
    want: PYTHON.replace(
      "            sum += item.price",
      "            if item.paid:\n                sum += item.price",
    ),
  },
  {
    name: "copied with too much indentation",
    file: "def f():\n    return 1\n",
    edits: one(
      "        def f():\n            return 1\n",
      "        def f():\n            return 2\n",
    ),
    want: "def f():\n    return 2\n",
  },
  {
    name: "a file with tabs, copied with blanks",
    file: TABS,
    edits: one(
      "    if ready {\n        start()\n    }",
      "    if ready {\n        log()\n        start()\n    }",
    ),
    want: "func main() {\n\tif ready {\n\t\tlog()\n\t\tstart()\n\t}\n}\n",
  },
  {
    name: "a file with four blanks, copied with two",
    file: "{\n    a: {\n        b: 1,\n    },\n}\n",
    edits: one("  a: {\n    b: 1,\n  },", "  a: {\n    b: 2,\n    c: 3,\n  },"),
    want: "{\n    a: {\n        b: 2,\n        c: 3,\n    },\n}\n",
  },
  {
    name: "indentation that follows no rule",
    file: "a:\n   b\n       c\n",
    edits: one("a:\n  b\n    c", "a:\n  b\n    d"),
    want: "refuse",
  },
  // Characters that look alike.
  {
    name: "typographic quotes in the file",
    file: "say(“hello”)\nbye()\n",
    edits: one('say("hello")', 'say("hi")'),
    want: 'say("hi")\nbye()\n',
  },
  {
    name: "a long dash and a blank that does not break",
    file: "# Setup — part\u00a01\ntext\n",
    edits: one("# Setup - part 1\ntext", "# Setup - part 1\nTEXT"),
    want: "# Setup — part\u00a01\nTEXT\n",
  },
  {
    name: "an accent as a character of its own",
    file: "cafe\u0301 = 1\n",
    edits: one("caf\u00e9 = 1", "caf\u00e9 = 2"),
    want: "caf\u00e9 = 2\n",
  },
  {
    name: "letters of other alphabets are other letters",
    file: "p\u0430ssword = 1\n",
    edits: one("password = 1", "password = 2"),
    want: "refuse",
  },
  // Encodings.
  {
    name: "a byte order mark stays",
    file: "\ufeffone\ntwo\n",
    edits: one("one", "1"),
    want: "\ufeff1\ntwo\n",
  },
  {
    name: "UTF-16 stays UTF-16",
    file: utf16("\ufeffone\r\ntwo\r\n", true),
    edits: one("one\ntwo", "one\nzwölf"),
    want: utf16("\ufeffone\r\nzwölf\r\n", true),
  },
  {
    name: "Latin-1 stays Latin-1",
    file: latin1("name = M\u00fcller\nage = 1\n"),
    edits: one("name = Müller\nage = 1", "name = Müßig\nage = 2"),
    want: latin1("name = M\u00fc\u00dfig\nage = 2\n"),
  },
  {
    name: "what Latin-1 has no place for",
    file: latin1("name = M\u00fcller\n"),
    edits: one("Müller", "M\u00fcller \u20bf"),
    want: "refuse",
  },
  // What is not there.
  {
    name: "a block that has changed since",
    file: "function a() {\n  return 2;\n}\n",
    edits: one("function a() {\n  return 1;\n}", "function a() {\n  return 3;\n}"),
    want: "refuse",
  },
  {
    name: "of several edits one does not fit",
    file: "one\ntwo\n",
    edits: [...one("one", "1"), ...one("three", "3")],
    want: "refuse",
  },
  // Size.
  {
    name: "a file of nine megabytes, copied with blanks at the ends of lines",
    file: HUGE,
    edits: one(
      "line 200000 of a file that is very long  \nline 200001 of",
      "line 200000 of a file that is very long\nLINE 200001 of",
    ),
    want: HUGE.replace("line 200001 of", "LINE 200001 of"),
  },
];

/** A file's bytes. */
export function bytesOf(file: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return typeof file === "string" ? encoder.encode(file) : file;
}
