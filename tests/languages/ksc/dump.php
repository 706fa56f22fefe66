<?php
// What ksc's PHP readers make of bytes, in the words of bridge.py.
//
//   php dump.php TABLE FOLDER RUNTIME
[, $table, $folder, $runtime] = $argv;
spl_autoload_register(function ($name) use ($folder, $runtime) {
    // an inner class is in the file of the outermost one
    $path = str_starts_with($name, 'Kaitai\\')
        ? $runtime . '/' . str_replace('\\', '/', $name) . '.php'
        : $folder . '/' . explode('\\', $name)[0] . '.php';
    if (is_file($path)) {
        require_once $path;
    }
});
$rows = array_map(fn ($line) => explode(' ', $line), file($table, FILE_IGNORE_NEW_LINES));
$rowOf = array_flip(array_column($rows, 0));

function dump($value): string
{
    global $rows, $rowOf;
    if ($value === null) {
        return 'null';
    }
    if (is_bool($value) || is_int($value)) {
        return (string) (int) $value;
    }
    if (is_float($value)) {
        return '{"f":"' . bin2hex(pack('E', $value)) . '"}';
    }
    if (is_string($value)) {
        return '"' . bin2hex($value) . '"';
    }
    if (is_array($value)) {
        return '[' . implode(',', array_map('dump', $value)) . ']';
    }
    $number = $rowOf[get_class($value)];
    $found = array_map(fn ($each) => dump($value->{substr($each, 2)}()), array_slice($rows[$number], 1));
    return "{\"$number\":[" . implode(',', $found) . ']}';
}

echo 'kaitai_struct_php_runtime, PHP ', PHP_VERSION, "\n";
while (($line = fgets(STDIN)) !== false) {
    [$number, $version, $data] = explode(' ', rtrim($line, "\n"));
    $told = $version === '-' ? [] : [(int) $version];
    try {
        $stream = new Kaitai\Struct\Stream(hex2bin($data));
        $value = dump(new $rows[(int) $number][0](...$told, ...[$stream]));
        echo $stream->isEof() ? 'V' : 'R', $value, "\n";
    } catch (Throwable $error) {
        echo 'E', get_class($error), "\n";
    }
}
