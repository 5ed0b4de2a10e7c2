/** Encodings that come close: each wrong one beside what it should have been. */
import { fromHex } from '../../protocol/index.ts'
import { refusalCase, type RefusalCase } from './cases/refusal-case.ts'
import { decoded } from './vector-exhibits.ts'

const PAIRS: readonly (readonly [what: string, wrong: string, right: string])[] = [
  ['a small number in eight bytes', '1b0000000000000001', '01'],
  ['a number beyond 2^53 - 1', '1b0020000000000000', '1b001fffffffffffff'],
  ['a number below -(2^53 - 1)', '3b001fffffffffffff', '3b001ffffffffffffe'],
  ['a length in more bytes than it needs', '58020102', '420102'],
  ['an array of indefinite length', '9f01ff', '8101'],
  ['a text of indefinite length', '7f6161ff', '6161'],
  ['keys out of order', 'a2616201616101', 'a2616101616201'],
  ['a longer key before a shorter one', 'a262616101616201', 'a261620162616101'],
  ['keys in the order of code points rather than bytes', 'a262c3a901627a7a01', 'a2627a7a0162c3a901'],
  ['a key that stands twice', 'a2616101616102', 'a2616101616202'],
  ['a key that is a number', 'a10101', 'a1613101'],
  ['a float that is a whole number', 'fb3ff0000000000000', '01'],
  ['a half float', 'f93c00', '01'],
  ['undefined', 'f7', 'f6'],
  ['a simple value without a name', 'f0', 'f5'],
  ['true in two bytes', 'f815', 'f5'],
  ['a tag', 'c101', '01'],
  ['a link', 'd82a4100', '4100'],
  ['broken UTF-8', '61ff', '6141'],
  ['a lone surrogate', '63eda080', '63e282ac'],
  ['an overlong character', '62c080', '6100'],
  ['a byte after the end', '0000', '00'],
  ['an array that ends early', '8201', '820101'],
  ['a text that ends early', '6361', '6161'],
  ['an array that claims four thousand million items', '9affffffff', '80'],
  ['a reserved length', '1c', '00'],
  ['nothing at all', '', 'f6'],
]

export const CANONICAL_CASES: readonly RefusalCase[] = PAIRS.map(([what, wrong, right]) =>
  refusalCase('not_canonical', what, (isWrong) => decoded(fromHex(isWrong ? wrong : right))),
)
