import { describe, it } from "node:test";
import fc from "fast-check";
import { runs } from "../properties/property-runs.ts";
import { ACTORS, type Actor, Stage } from "../run/stage.ts";
import { buildProject, COMPILER_ENVIRONMENT } from "./compiled-project.ts";
import { assertSameWork } from "./same-work.ts";

/**
 * Random work with the tools that people have, over a few places, so that steps meet. A step that fails,
 * because what it needs is not there, fails in both trees. Places are moved only where the tools move what
 * the kernel does not (`mv` copies a folder of a lower layer, and so parts a file in it from its names
 * elsewhere): hard links stay in one folder, that is not moved.
 */
const PLACES = ["a", "b", "a/inner", "b/inner", "src", "build", "tree/one", "tree/two"] as const;
const FILES = ["a/file", "b/file", "src/part-1.c", "tree/one/1", "tree/two/2", "a.txt", "Makefile"] as const;

const place = fc.constantFrom(...PLACES);
const file = fc.constantFrom(...FILES);
const number = fc.integer({ min: 0, max: 999 });

function steps(actor: Actor): fc.Arbitrary<string> {
  const forAll = [
    fc.tuple(place).map(([at]) => `mkdir -p ${at} && tar -xpf tree.tar -C ${at}`),
    fc.tuple(place).map(([at]) => `rm -rf ${at}`),
    // A folder is copied into itself as far as it is read by then.
    fc
      .tuple(place, place)
      .filter(([from, to]) => !`${to}/`.startsWith(`${from}/`))
      .map(([from, to]) => `cp -a ${from} ${to}`),
    fc.tuple(place, place).map(([from, to]) => `mv ${from} ${to}`),
    fc.tuple(place, place).map(([from, to]) => `rm -rf ${to} && mv -T ${from} ${to}`),
    fc.tuple(place, number).map(([at, seconds]) => `touch -d @${seconds} ${at}`),
    fc
      .tuple(place, fc.constantFrom("u+w,go-w", "g-r,o=", "a+rX"))
      .map(([at, mode]) => `chmod -R ${mode} ${at}`),
    fc.tuple(place).map(([at]) => `find ${at} -type f -name '*1*' -delete`),
    fc
      .tuple(place)
      .map(([at]) => `tar --sort=name --mtime=@9 -czf packed.tgz ${at} && tar -xzf packed.tgz -C tree`),
    fc.tuple(file, number).map(([path, size]) => `truncate -s ${size} ${path}`),
    fc.tuple(file, number).map(([path, text]) => `echo ${text} >> ${path}`),
    fc.tuple(file, number).map(([path, text]) => `sed -i '1i /* ${text} */' ${path}`),
    fc.tuple(file, file).map(([from, to]) => `mv -f ${from} ${to}`),
    fc.tuple(file, file).map(([from, to]) => `ln -sfn ../${from} ${to}`),
    fc.tuple(file, number).map(([path, value]) => `setfattr -n user.mine -v ${value} ${path}`),
    // Without -k it depends on chance what is made before the first error.
    fc.constant("make -s -k -j4"),
    fc.constant("make -s clean"),
  ];
  const ofRoot = [
    fc.tuple(file).map(([path]) => `chown 12345:54321 ${path}`),
    fc.tuple(number).map(([name]) => `ln linked/first linked/${name}; echo ${name} >> linked/first`),
  ];
  return fc.oneof(...forAll, ...(actor === "root" ? ofRoot : []));
}

const PREPARATION = `
  mkdir -p linked tree/one tree/two a b
  for n in $(seq 12); do echo "$n" > tree/one/$n; echo "$n" > tree/two/$n; done
  chmod 600 tree/one/3; chmod 555 tree/two/4; ln -s one/1 tree/link; echo a > a/file; echo b > b/file
  echo first > linked/first; ln linked/first linked/second
  tar -cf tree.tar tree Makefile`;

for (const actor of ACTORS) {
  describe(`Random work inside, applied, by ${actor}`, () => {
    it("[A11] leaves what the same work done directly does", () => {
      const script = fc.array(steps(actor), { minLength: 4, maxLength: 16 });
      fc.assert(
        fc.property(script, (lines) => {
          using stage = new Stage(actor);
          buildProject(stage.project, 4);
          stage.run("sh", ["-ec", PREPARATION]);
          stage.give();
          assertSameWork(stage, {
            script: lines.map((line) => `( ${line} ) || true`).join("\n"),
            env: COMPILER_ENVIRONMENT,
          });
        }),
        { ...runs(3, 5), endOnFailure: false },
      );
    });
  });
}
