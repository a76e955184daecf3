# Put the page of `kcount report` into a C file, as one string.
#
#   cmake -DFOLDER=app/report/page -DSCRIPTS=a.js,b.js -DOUTPUT=page_template.c -P Page.cmake
#
# The style and the scripts are set into template.html, with the hashes by which the page's security
# policy allows them; comments and indents are left out. What only the program knows stays:
# @@TITLE@@, @@BODY@@ and @@JSON@@.

# The SHA-256 of a text, in base64, as a security policy names it.
function(find_hash result text)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 digits "${text}")
  set(digits ${digits}00) # 32 bytes and one of padding: 11 groups of 3
  set(hash "")
  foreach(group RANGE 10)
    math(EXPR at "6 * ${group}")
    string(SUBSTRING ${digits} ${at} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR sextet "(0x${bytes} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${sextet} 1 letter)
      string(APPEND hash ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${hash} 0 43 hash)
  set(${result} "sha256-${hash}=" PARENT_SCOPE)
endfunction()

function(read_source result name)
  file(READ ${FOLDER}/${name} text)
  string(REGEX REPLACE "/[*]([^*]|[*]+[^*/])*[*]+/" "" text "${text}")
  string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/template.html template)
read_source(style report.css)
set(script "(() => {\n\"use strict\";\n")
string(REPLACE "," ";" scripts "${SCRIPTS}")
foreach(name ${scripts})
  read_source(text ${name})
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")
find_hash(style_hash "${style}")
find_hash(script_hash "${script}")
string(REPLACE "@@STYLE_HASH@@" "${style_hash}" template "${template}")
string(REPLACE "@@SCRIPT_HASH@@" "${script_hash}" template "${template}")
string(REPLACE "@@STYLE@@" "${style}" template "${template}")
string(REPLACE "@@SCRIPT@@" "${script}" template "${template}")

string(HEX "${template}" bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char page_template[];\nconst char page_template[] = {${bytes}0};\n")
