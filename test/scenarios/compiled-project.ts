import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Compilers leave no time of the clock in what they make. */
export const COMPILER_ENVIRONMENT = { SOURCE_DATE_EPOCH: "1700000000", ZERO_AR_DATE: "1", LC_ALL: "C" };

const MAKEFILE = `
SOURCES := $(sort $(wildcard src/*.c))
OBJECTS := $(SOURCES:src/%.c=build/objects/%.o)

build/program: build/libparts.a build/objects/main.o
	gcc -o $@ build/objects/main.o build/libparts.a

build/libparts.a: $(filter-out %/main.o,$(OBJECTS))
	rm -f $@
	ar rcsD $@ $^

build/objects/%.o: src/%.c include/parts.h | build/objects
	gcc -g -Iinclude -c $< -o $@.new
	mv $@.new $@

build/objects:
	mkdir -p $@

clean:
	rm -rf build

.PHONY: clean
`;

/**
 * Writes a program of many parts in C, with what `make` needs. It prints the sum of the numbers of its first
 * parts.
 */
export function buildProject(folder: string, parts: number): void {
  for (const name of ["src", "include"]) mkdirSync(join(folder, name), { recursive: true });
  const numbers = Array.from({ length: parts }, (_, at) => at);
  const summed = numbers.filter((at) => at < 20);
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  write("Makefile", MAKEFILE);
  write("include/parts.h", numbers.map((at) => `int part_${at}(void);\n`).join(""));
  for (const at of numbers)
    write(`src/part-${at}.c`, `#include "parts.h"\nint part_${at}(void) { return ${at}; }\n`);
  const sum = summed.map((at) => `part_${at}()`).join(" + ");
  write(
    "src/main.c",
    `#include <stdio.h>\n#include "parts.h"\nint main(void) { printf("sum %d\\n", ${sum}); return 0; }\n`,
  );
}
