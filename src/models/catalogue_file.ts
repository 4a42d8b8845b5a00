/** The catalogue of models: the built-in snapshot, and a downloaded one. */
import { checkPrivate } from "../os/files.ts";
import { messageOf } from "../protocol/errors.ts";
import { Catalogue, type CatalogueData } from "./catalogue.ts";
import snapshot from "./catalogue_snapshot.json" with { type: "text" };

/** The largest stored catalogue, in bytes. */
export const STORED_MAX = 8 * 1024 * 1024;

/** Reads the catalogue, and again after each download. */
export class CatalogueFile {
  readonly #path: string;
  readonly #built_in: CatalogueData = JSON.parse(snapshot);
  #read: { stamp: string; catalogue: Catalogue } | undefined;

  /** @param path of the downloaded catalogue, which may not exist */
  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the catalogue. A downloaded one that is damaged, or not only ours, is ignored. */
  async get(): Promise<Catalogue> {
    let stamp = "";
    let problem: string | undefined;
    try {
      if (checkPrivate(this.#path, 0o600, "file")) {
        const { ino, size, mtime, ctime } = Deno.lstatSync(this.#path);
        stamp = [ino, size, mtime?.getTime(), ctime?.getTime()].join();
      }
    } catch (error) {
      problem = messageOf(error);
      stamp = problem;
    }
    if (this.#read?.stamp === stamp) return this.#read.catalogue;
    const layers = [this.#built_in];
    if (stamp !== "" && problem === undefined) {
      try {
        layers.push(await this.#downloaded());
      } catch {
        problem = `${this.#path} is damaged; it is replaced by the next download`;
      }
    }
    const catalogue = new Catalogue(layers, problem);
    this.#read = { stamp, catalogue };
    return catalogue;
  }

  async #downloaded(): Promise<CatalogueData> {
    const { size } = Deno.lstatSync(this.#path);
    if (size > STORED_MAX) throw new Error("too large");
    const { catalogueSchema } = await import("./catalogue_schema.ts");
    return catalogueSchema().parse(JSON.parse(await Deno.readTextFile(this.#path)));
  }
}
