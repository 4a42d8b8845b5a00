/** The package registries that the files of a directory call for. */

interface Ecosystem {
  /** Files that show that a directory uses it. */
  manifests: readonly string[];
  /** What its package managers connect to by default. */
  hosts: readonly string[];
}

/** By the names of their registries. */
const ECOSYSTEMS: Readonly<Record<string, Ecosystem>> = {
  npm: {
    manifests: ["package.json"],
    hosts: ["registry.npmjs.org", "registry.yarnpkg.com"],
  },
  pypi: {
    manifests: ["pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile"],
    hosts: ["pypi.org", "files.pythonhosted.org"],
  },
  crates: {
    manifests: ["Cargo.toml"],
    hosts: ["index.crates.io", "static.crates.io", "crates.io"],
  },
  go: {
    manifests: ["go.mod"],
    hosts: ["proxy.golang.org", "sum.golang.org"],
  },
  rubygems: {
    manifests: ["Gemfile"],
    hosts: ["rubygems.org", "index.rubygems.org"],
  },
  maven: {
    manifests: ["pom.xml", "build.gradle", "build.gradle.kts"],
    hosts: ["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org"],
  },
};

/**
 * Returns the hosts of the registries that a directory calls for.
 *
 * @param isThere whether the directory has a file of that name
 */
export async function registryHosts(
  isThere: (name: string) => Promise<boolean>,
): Promise<string[]> {
  const found = await Promise.all(
    Object.values(ECOSYSTEMS).map(async ({ manifests, hosts }) => {
      const there = await Promise.all(manifests.map(isThere));
      return there.includes(true) ? hosts : [];
    }),
  );
  return found.flat();
}
