import { describe, expect, test } from 'vitest'
import { compoundsOf, fold, wordsOf } from '../../src/node/search-words.ts'

const words = (text: string): string[] => [...compoundsOf(text)].flatMap(wordsOf)

describe('text comes apart into words', () => {
  test.each<[string, string[]]>([
    ['Fix it, please!', ['fix', 'it', 'please']],
    ['getUserById', ['get', 'user', 'by', 'id', 'getuserbyid']],
    ['HTTPServer2Go', ['http', 'server2', 'go', 'httpserver2go']],
    ['next_cursor', ['next', 'cursor', 'nextcursor']],
    ['nextCursor next-cursor', ['next', 'cursor', 'nextcursor', 'next', 'cursor', 'nextcursor']],
    ['MAX_RETRY_COUNT', ['max', 'retry', 'count', 'maxretrycount']],
    ['src/api/users.py', ['src', 'api', 'users', 'py', 'userspy']],
    ['C:\\temp\\a.txt', ['c', 'temp', 'a', 'txt', 'atxt']],
    ['--dry-run', ['dry', 'run', 'dryrun']],
    ["don't l’API", ['don', 't', 'dont', 'l', 'api', 'lapi']],
    ['v2.4.1 sha256', ['v2', '4', '1', 'v241', 'sha256']],
    ['+-{}[]()…。、🙂', []],
    ['__init__', ['init']],
    ['用户列表', ['用户', '户列', '列表', '表']],
    ['表', ['表', '表']],
    ['ページ送りのAPI', ['ペー', 'ージ', 'ジ送', '送り', 'りの', 'api', 'の']],
    ['한국어 검색', ['한국어', '검색']],
    ['หน้าแรก', ['หน', 'น้', '้า', 'าแ', 'แร', 'รก', 'ก']],
    ['Здравствуй МИР', ['здравствуи', 'мир']],
  ])('%s', (text, expected) => {
    expect(words(text)).toEqual(expected)
  })

  test('a blob is cut, within whole characters', () => {
    expect(words('a'.repeat(100))).toEqual(['a'.repeat(64)])
    for (const word of words(`${'a'.repeat(63)}${'𝕏'.repeat(40)}`)) expect(word.isWellFormed()).toBe(true)
  })

  test('places are those of the text as it was written', () => {
    const text = 'Ｆｕｌｌ Straße naïve'
    expect([...compoundsOf(text)].map(({ from, to }) => text.slice(from, to))).toEqual(['Ｆｕｌｌ', 'Straße', 'naïve'])
  })
})

test.each([
  ['Straße', 'STRASSE'],
  ['naïve', 'naive'],
  ['Ångström', 'angstrom'],
  ['ﬁle', 'FILE'],
  ['ΣΊΣΥΦΟΣ', 'σισυφος'],
  ['ISTANBUL', 'ıstanbul'],
  ['Ｆｕｌｌ', 'full'],
  ['مُحَمَّد', 'محمد'],
  ['が', 'が'],
])('%s and %s are one word', (one, other) => {
  expect(fold(one)).toBe(fold(other))
})

test('marks that make another letter stay', () => {
  expect(fold('が')).not.toBe(fold('か'))
  expect(fold('की')).not.toBe(fold('का'))
})
